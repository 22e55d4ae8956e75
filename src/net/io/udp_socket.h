// UdpSocket: a UDP socket on a loop, for servers (Bind) and for one question to one peer (Connect).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "net/io/io_loop.h"

namespace flyball::net {

// Where a datagram came from and which of this machine's addresses it was sent to: an answer goes the same
// way back, also from a socket that listens on all addresses. A value.
struct UdpPath {
  std::array<std::uint8_t, 16> peer_ip{};   // IPv4 as ::ffff:a.b.c.d
  std::array<std::uint8_t, 16> local_ip{};  // all zero: the kernel chooses
  std::uint16_t peer_port = 0;
  std::uint32_t scope = 0;  // the interface of a link-local peer
};

// Confined to its loop, except Bind, Start, port and the destructor of one that is closed. Must be closed
// before the loop stops. A socket belongs to the network namespace of the thread that opens it.
class UdpSocket {
 public:
  // Datagrams of more bytes than this are dropped.
  static constexpr std::size_t kMaxDatagram = 4096;
  using Receiver = std::function<void(std::string_view datagram, const UdpPath& path)>;

  // Nothing is received before Start. What is sent from within `receiver` leaves together, when a batch is
  // done.
  static Result<std::unique_ptr<UdpSocket>> Bind(IoLoop& loop, const std::string& address, int port,
                                                 Receiver receiver);
  // From a port that the kernel chooses at random, to one peer, and from that peer only. On the loop.
  static Result<std::unique_ptr<UdpSocket>> Connect(IoLoop& loop, const std::string& address, int port,
                                                    Receiver receiver);
  ~UdpSocket();

  // Begins to receive: a bound socket only.
  void Start();
  int port() const;
  // Never blocks. What the kernel has no room for is lost, as datagrams are.
  void Send(std::string datagram, const UdpPath& path);
  // A connected socket's. False if the peer is known not to listen.
  bool Send(std::string_view datagram);
  // No receiver is called after it. Idempotent.
  void Close();

 private:
  struct State;
  explicit UdpSocket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State> state_;
};

}  // namespace flyball::net
