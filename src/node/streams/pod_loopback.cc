#include "node/streams/pod_loopback.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/files/owned_fd.h"
#include "base/values/ascii.h"
#include "network/netlink/network_namespace.h"

namespace flyball::node {
namespace {

// On loopback only a listener whose queue is full does not answer at once.
constexpr int kLoopbackPatienceMs = 200;

// 0, or what went wrong.
int Connected(int fd, const sockaddr* to, socklen_t size) {
  if (::connect(fd, to, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{fd, POLLOUT, 0};
  if (::poll(&wait, 1, kLoopbackPatienceMs) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

template <typename Address>
Result<int> ConnectTo(const Address& to, int family, const char* name) {
  OwnedFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int error = fd ? Connected(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) : errno;
  if (error == 0) return ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  return Unexpected(Error(Reason::kConnection,
                          std::string("dial tcp ") + name + ": connect: " + LowerCase(std::strerror(error))));
}

Result<int> ConnectHere(int port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto connected = ConnectTo(v4, AF_INET, "127.0.0.1");
  if (connected) return connected;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  const auto other = ConnectTo(v6, AF_INET6, "::1");
  return other ? other : connected;
}

}  // namespace

Result<int> ConnectLoopback(const std::string& network_namespace, int port) {
  FLYBALL_ASSIGN(const auto ns, network::NetworkNamespace::Open(network_namespace));
  return ns->Run([port] { return ConnectHere(port); });
}

}  // namespace flyball::node
