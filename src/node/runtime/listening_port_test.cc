#include "node/runtime/listening_port.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace flyball::node {
namespace {

// A port of this process, on any address of the family.
class OwnPort {
 public:
  explicit OwnPort(int family) : fd_(::socket(family, SOCK_STREAM, 0)) {
    if (family == AF_INET) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      Listen(address, address.sin_port);
    } else {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_addr = in6addr_loopback;
      Listen(address, address.sin6_port);
    }
  }
  ~OwnPort() { ::close(fd_); }
  int number() const { return number_; }

 private:
  template <class Address>
  void Listen(Address& address, in_port_t& port) {
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(fd_, generic, size) != 0 || ::listen(fd_, 1) != 0 || ::getsockname(fd_, generic, &size) != 0)
      return;
    number_ = ntohs(port);
  }
  const int fd_;
  int number_ = 0;
};

TEST(ListeningPortTest, IsItsProcess) {
  for (const int family : {AF_INET, AF_INET6}) {
    const OwnPort port(family);
    if (port.number() == 0) continue;  // no IPv6 here
    EXPECT_TRUE(ListensAt(port.number(), [](pid_t pid) { return pid == getpid(); }));
    EXPECT_FALSE(ListensAt(port.number(), [](pid_t pid) { return pid != getpid(); }));
    EXPECT_FALSE(ListensAt(port.number(), [](pid_t) { return false; }));
  }
}

TEST(ListeningPortTest, NobodysIsRefusedByTheKernel) {
  int number = 0;
  {
    const OwnPort port(AF_INET);
    number = port.number();
  }
  EXPECT_TRUE(ListensAt(number, [](pid_t) { return false; }));
}

}  // namespace
}  // namespace flyball::node
