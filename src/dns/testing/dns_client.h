// For tests: questions over real sockets, on blocking calls; and a name server that says what a test wants.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dns/packet/message.h"
#include "net/io/udp_socket.h"
#include "net/server/tcp_server.h"
#include "net/testing/raw_socket.h"

namespace flyball::dns {

inline Message QueryOf(const std::string& name, std::uint16_t type, std::optional<Edns> edns = std::nullopt) {
  Message query;
  query.id = 4711;
  query.recursion_desired = true;
  query.question = Question{*Name::FromText(name), type};
  query.edns = edns;
  return query;
}

// A UDP socket on the loopback interface.
class UdpClient {
 public:
  explicit UdpClient(int port) : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  UdpClient(const UdpClient&) = delete;
  UdpClient& operator=(const UdpClient&) = delete;
  ~UdpClient() { close(fd_); }

  void Send(const std::string& packet) { (void)send(fd_, packet.data(), packet.size(), 0); }
  // "" if nothing comes.
  std::string Receive() {
    std::string packet(65536, '\0');
    const ssize_t n = recv(fd_, packet.data(), packet.size(), 0);
    packet.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return packet;
  }
  Message Ask(const Message& query) {
    Send(Encode(query, kMaxPacketBytes));
    Message reply;
    (void)Parse(Receive(), reply);
    return reply;
  }

 private:
  const int fd_;
};

inline std::string WithLength(const std::string& packet) {
  return std::string{static_cast<char>(packet.size() >> 8), static_cast<char>(packet.size() & 0xff)} + packet;
}

// Answers on UDP and TCP with what `answer` makes of a query; null: not at all. Counts what it is asked.
class FakeUpstream {
 public:
  using Answer = std::function<std::optional<Message>(const Message& query, bool tcp)>;
  explicit FakeUpstream(Answer answer)
      : answer_(std::move(answer)), loop_(std::make_shared<net::IoLoop>("fake")) {
    // A port that is free for UDP may be taken for TCP; then another one is tried.
    while (!Listen()) continue;
    udp_->Start();
  }
  ~FakeUpstream() {
    tcp_->Close();
    loop_->Post([this] { udp_->Close(); });
    loop_->Stop();
  }
  int port() const { return tcp_->port(); }
  int asked() const { return asked_; }
  int asked_by_tcp() const { return asked_by_tcp_; }

 private:
  bool Listen() {
    udp_ = *net::UdpSocket::Bind(*loop_, "127.0.0.1", 0,
                                 [this](std::string_view packet, const net::UdpPath& path) {
                                   if (const auto reply = ReplyTo(packet, false))
                                     udp_->Send(Encode(*reply, 512), path);
                                 });
    auto tcp =
        net::TcpServer::Start(loop_, "127.0.0.1", udp_->port(), 10,
                              [this](const auto& connection, const std::string&) { Serve(connection); });
    if (tcp)
      tcp_ = std::move(*tcp);
    else
      loop_->Post([taken = std::shared_ptr<net::UdpSocket>(std::move(udp_))] { taken->Close(); });
    return tcp.has_value();
  }
  std::optional<Message> ReplyTo(std::string_view packet, bool tcp) {
    Message query;
    // The search for loops is no question of a test's.
    if (Parse(packet, query) != Parsed::kOk || query.question->name.ToText().ends_with(".invalid."))
      return std::nullopt;
    ++(tcp ? asked_by_tcp_ : asked_);
    auto reply = answer_(query, tcp);
    if (!reply) return std::nullopt;
    reply->id = query.id;
    reply->response = true;
    reply->question = query.question;
    return reply;
  }
  void Serve(const std::shared_ptr<net::Duplex>& connection) {
    auto input = std::make_shared<std::string>();
    connection->Read(
        [this, connection, input](std::string_view data) {
          input->append(data);
          if (input->size() < 2) return;
          if (const auto reply = ReplyTo(std::string_view(*input).substr(2), true))
            connection->Write(MakeBytes(WithLength(Encode(*reply, kMaxPacketBytes))));
        },
        [connection] { connection->End(); });
  }

  const Answer answer_;
  const std::shared_ptr<net::IoLoop> loop_;
  std::atomic<int> asked_{0}, asked_by_tcp_{0};
  std::unique_ptr<net::UdpSocket> udp_;
  std::unique_ptr<net::TcpServer> tcp_;
};

}  // namespace flyball::dns
