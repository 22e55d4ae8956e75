#include "net/io/udp_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/udp.hpp>
#include <cstring>
#include <vector>

#include "net/io/asio.h"

namespace flyball::net {

namespace {

using boost::asio::ip::udp;

// System calls are what a small datagram costs, so they are shared: this many at a time.
constexpr unsigned kBatch = 32;
// Datagrams that arrive while the loop does something else.
constexpr int kReceiveBuffer = 4 << 20;
constexpr std::size_t kControlBytes = 64;  // one address and its interface

struct alignas(cmsghdr) Control {
  std::array<char, kControlBytes> bytes;
};

// What one system call reads into. Every socket of a loop shares its thread's, so that a socket owns none.
struct Inbox {
  std::array<std::array<char, UdpSocket::kMaxDatagram>, kBatch> data;
  std::array<sockaddr_in6, kBatch> from;
  std::array<Control, kBatch> control;
  std::array<iovec, kBatch> pieces;
  std::array<mmsghdr, kBatch> heads;

  int Receive(int fd) {
    for (unsigned i = 0; i < kBatch; ++i) {
      pieces[i] = {data[i].data(), data[i].size()};
      heads[i] = {};
      heads[i].msg_hdr = {.msg_name = &from[i],
                          .msg_namelen = sizeof from[i],
                          .msg_iov = &pieces[i],
                          .msg_iovlen = 1,
                          .msg_control = control[i].bytes.data(),
                          .msg_controllen = kControlBytes,
                          .msg_flags = 0};
    }
    return recvmmsg(fd, heads.data(), kBatch, MSG_DONTWAIT, nullptr);
  }
};

Inbox& ThisThreadsInbox() {
  thread_local const auto inbox = std::make_unique<Inbox>();
  return *inbox;
}

void MapV4(const in_addr& address, std::array<std::uint8_t, 16>& to) {
  to = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(to.data() + 12, &address, sizeof address);
}

bool IsV4(const std::array<std::uint8_t, 16>& ip) {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
}

void ReadLocal(msghdr& head, UdpPath& path) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&head); at; at = CMSG_NXTHDR(&head, at)) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(at), sizeof info);
      MapV4(info.ipi_spec_dst, path.local_ip);
    } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(at), sizeof info);
      std::memcpy(path.local_ip.data(), &info.ipi6_addr, sizeof info.ipi6_addr);
    }
  }
}

UdpPath PathOf(const sockaddr_in6& from, msghdr& head) {
  UdpPath path;
  if (from.sin6_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    MapV4(v4.sin_addr, path.peer_ip);
    path.peer_port = ntohs(v4.sin_port);
  } else {
    std::memcpy(path.peer_ip.data(), &from.sin6_addr, sizeof from.sin6_addr);
    path.peer_port = ntohs(from.sin6_port);
    path.scope = from.sin6_scope_id;
  }
  ReadLocal(head, path);
  return path;
}

template <typename Info>
void SetControl(msghdr& head, Control& control, int level, int type, const Info& info) {
  head.msg_control = control.bytes.data();
  head.msg_controllen = CMSG_SPACE(sizeof info);
  cmsghdr* at = CMSG_FIRSTHDR(&head);
  at->cmsg_level = level;
  at->cmsg_type = type;
  at->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(at), &info, sizeof info);
}

// A datagram on its way out, and what the kernel is told about it.
struct Outgoing {
  std::string data;
  UdpPath path;
  sockaddr_in6 to{};
  Control control{};
  iovec piece{};

  // `v4`: the socket is of IPv4, else it takes both. Points into this, so it must not move afterwards.
  void Describe(msghdr& head, bool v4) {
    piece = {data.data(), data.size()};
    head = {};
    head.msg_name = &to;
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    const bool has_local =
        std::any_of(path.local_ip.begin(), path.local_ip.end(), [](std::uint8_t byte) { return byte != 0; });
    if (v4) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(path.peer_port);
      std::memcpy(&address.sin_addr, path.peer_ip.data() + 12, sizeof address.sin_addr);
      std::memcpy(&to, &address, sizeof address);
      head.msg_namelen = sizeof address;
      in_pktinfo info{};
      std::memcpy(&info.ipi_spec_dst, path.local_ip.data() + 12, sizeof info.ipi_spec_dst);
      if (has_local) SetControl(head, control, IPPROTO_IP, IP_PKTINFO, info);
      return;
    }
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(path.peer_port);
    to.sin6_scope_id = path.scope;
    std::memcpy(&to.sin6_addr, path.peer_ip.data(), sizeof to.sin6_addr);
    head.msg_namelen = sizeof to;
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, path.local_ip.data(), sizeof info.ipi6_addr);
    info.ipi6_ifindex = path.scope;
    if (has_local) SetControl(head, control, IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
};

}  // namespace

struct UdpSocket::State : std::enable_shared_from_this<State> {
  State(IoLoop& l, Receiver fn) : loop(l), socket(l.context()), receiver(std::move(fn)) {}

  void WaitReadable() {
    socket.async_wait(udp::socket::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (error || self->closed) return;
                        self->ReceiveAll();
                      });
  }

  // One batch, then others on the loop have their turn.
  void ReceiveAll() {
    Inbox& inbox = ThisThreadsInbox();
    const int count = inbox.Receive(socket.native_handle());
    in_batch = true;
    for (int i = 0; i < count && !closed; ++i) {
      mmsghdr& head = inbox.heads[static_cast<unsigned>(i)];
      if (head.msg_hdr.msg_flags & MSG_TRUNC) continue;
      receiver({inbox.data[static_cast<unsigned>(i)].data(), head.msg_len},
               PathOf(inbox.from[static_cast<unsigned>(i)], head.msg_hdr));
    }
    in_batch = false;
    Flush();
    if (!closed) WaitReadable();
  }

  void Flush() {
    for (std::size_t begin = 0; begin < outgoing.size() && !closed; begin += kBatch) {
      std::array<mmsghdr, kBatch> heads;
      const std::size_t count = std::min<std::size_t>(kBatch, outgoing.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        heads[i] = {};
        outgoing[begin + i].Describe(heads[i].msg_hdr, v4);
      }
      SendAll(heads.data(), count);
    }
    outgoing.clear();
  }

  // One that cannot be sent, to a peer without a route perhaps, does not hold up the others.
  void SendAll(mmsghdr* heads, std::size_t count) {
    for (std::size_t sent = 0; sent < count;) {
      const int n =
          sendmmsg(socket.native_handle(), heads + sent, static_cast<unsigned>(count - sent), MSG_DONTWAIT);
      sent += n > 0 ? static_cast<std::size_t>(n) : 1;
    }
  }

  IoLoop& loop;
  udp::socket socket;
  const Receiver receiver;
  std::vector<Outgoing> outgoing;
  bool v4 = false, in_batch = false, closed = false;
};

namespace {

Unexpected UdpError(const char* what, const std::string& address, int port, const std::string& why) {
  return Unexpected(InternalError("cannot " + std::string(what) + " " + address + ":" + std::to_string(port) +
                                  " by UDP: " + why));
}

Result<udp::endpoint> UdpEndpoint(const std::string& address, int port) {
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(address, error);
  if (error) return Unexpected(BadRequest("not an IP address: " + address));
  if (port < 0 || port > 65535) return Unexpected(BadRequest("not a port: " + std::to_string(port)));
  return udp::endpoint(ip, static_cast<unsigned short>(port));
}

// Ask the kernel to say which address a datagram was sent to.
void WantLocalAddress(int fd, bool v4) {
  const int on = 1;
  if (v4)
    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  else
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
}

}  // namespace

Result<std::unique_ptr<UdpSocket>> UdpSocket::Bind(IoLoop& loop, const std::string& address, int port,
                                                   Receiver receiver) {
  FLYBALL_ASSIGN(const udp::endpoint endpoint, UdpEndpoint(address, port));
  auto state = std::make_shared<State>(loop, std::move(receiver));
  state->v4 = endpoint.address().is_v4();
  boost::system::error_code error, ignored;
  state->socket.open(endpoint.protocol(), error);
  if (!error) state->socket.set_option(udp::socket::receive_buffer_size(kReceiveBuffer), ignored);
  if (!error) WantLocalAddress(state->socket.native_handle(), state->v4);
  if (!error) state->socket.bind(endpoint, error);
  if (error) return UdpError("listen on", address, port, error.message());
  return std::unique_ptr<UdpSocket>(new UdpSocket(std::move(state)));
}

Result<std::unique_ptr<UdpSocket>> UdpSocket::Connect(IoLoop& loop, const std::string& address, int port,
                                                      Receiver receiver) {
  FLYBALL_ASSIGN(const udp::endpoint endpoint, UdpEndpoint(address, port));
  auto state = std::make_shared<State>(loop, std::move(receiver));
  state->v4 = endpoint.address().is_v4();
  boost::system::error_code error;
  state->socket.open(endpoint.protocol(), error);
  if (!error) state->socket.connect(endpoint, error);
  if (error) return UdpError("reach", address, port, error.message());
  state->WaitReadable();
  return std::unique_ptr<UdpSocket>(new UdpSocket(std::move(state)));
}

UdpSocket::~UdpSocket() = default;

void UdpSocket::Start() {
  state_->loop.Post([state = state_] {
    if (!state->closed) state->WaitReadable();
  });
}

int UdpSocket::port() const {
  boost::system::error_code ignored;
  return state_->socket.local_endpoint(ignored).port();
}

void UdpSocket::Send(std::string datagram, const UdpPath& path) {
  if (state_->closed || (state_->v4 && !IsV4(path.peer_ip))) return;
  state_->outgoing.push_back({std::move(datagram), path});
  if (!state_->in_batch) state_->Flush();
}

bool UdpSocket::Send(std::string_view datagram) {
  if (state_->closed) return false;
  return send(state_->socket.native_handle(), datagram.data(), datagram.size(), MSG_DONTWAIT) >= 0 ||
         errno == EAGAIN;
}

void UdpSocket::Close() {
  if (std::exchange(state_->closed, true)) return;
  boost::system::error_code ignored;
  state_->socket.close(ignored);
}

}  // namespace flyball::net
