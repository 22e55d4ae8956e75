// For tests: a node, pods and strangers, each in a network namespace of its own, joined by veth pairs to the
// node, which routes; and real sockets in them. Needs root.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/thread.h"
#include "network/netlink/netlink.h"
#include "network/netlink/network_namespace.h"
#include "network/testing/own_namespace.h"

namespace flyball::network {

// One that goes with the last handle.
inline NetworkNamespace::Ptr NewNamespace() {
  NetworkNamespace::Ptr ns;
  InOwnNamespace([&] { ns = *NetworkNamespace::Current(); });
  return ns;
}

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  static SocketAddress From(const std::string& ip, int port) {
    SocketAddress to{};
    if (::inet_pton(AF_INET, ip.c_str(), &to.v4.sin_addr) == 1) {
      to.v4.sin_family = AF_INET;
      to.v4.sin_port = htons(static_cast<std::uint16_t>(port));
    } else if (::inet_pton(AF_INET6, ip.c_str(), &to.v6.sin6_addr) == 1) {
      to.v6.sin6_family = AF_INET6;
      to.v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    }
    return to;
  }
  std::string Ip() const {
    char text[INET6_ADDRSTRLEN] = {};
    if (any.sa_family == AF_INET) return ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  socklen_t size() const { return any.sa_family == AF_INET ? sizeof v4 : sizeof v6; }
};

// Answers every connection (or datagram) with "name client-ip", until it is destroyed.
class AnsweringServer {
 public:
  AnsweringServer(const NetworkNamespace::Ptr& ns, const std::string& name, const std::string& ip, int port,
                  int type = SOCK_STREAM, int protocol = 0)
      : name_(name), type_(type) {
    const SocketAddress at = SocketAddress::From(ip, port);
    const Status opened = ns->Run([&]() -> Status {
      fd_ = ::socket(at.any.sa_family, type | SOCK_CLOEXEC, protocol);
      const int on = 1;
      ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (::bind(fd_, &at.any, at.size()) != 0 || (type != SOCK_DGRAM && ::listen(fd_, 64) != 0))
        return Unexpected(InternalError(std::strerror(errno)));
      return {};
    });
    EXPECT_TRUE(opened) << opened.error().message() << " " << ip;
    EXPECT_EQ(::pipe2(stop_, O_CLOEXEC), 0);
    thread_ = Thread("answers", [this] { Serve(); });
  }
  ~AnsweringServer() {
    EXPECT_EQ(::write(stop_[1], "x", 1), 1);
    thread_.Join();
    for (const int fd : {fd_, stop_[0], stop_[1]}) ::close(fd);
  }

 private:
  void Serve() {
    pollfd wait[2] = {{fd_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    while (::poll(wait, 2, -1) >= 0 || errno == EINTR) {
      if (wait[1].revents) return;
      if (wait[0].revents) AnswerOne();
    }
  }
  void AnswerOne() {
    SocketAddress from{};
    socklen_t size = sizeof from;
    if (type_ == SOCK_DGRAM) {
      char buffer[64];
      if (::recvfrom(fd_, buffer, sizeof buffer, 0, &from.any, &size) < 0) return;
      const std::string answer = name_ + " " + from.Ip();
      ::sendto(fd_, answer.data(), answer.size(), 0, &from.any, size);
      return;
    }
    const int connection = ::accept(fd_, &from.any, &size);
    if (connection < 0) return;
    const std::string answer = name_ + " " + from.Ip();
    ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(connection);
  }

  const std::string name_;
  const int type_;
  int fd_ = -1, stop_[2] = {-1, -1};
  Thread thread_;
};

// A client's socket, which can ask more than once.
class AskingSocket {
 public:
  AskingSocket(const NetworkNamespace::Ptr& ns, const std::string& ip, int port, int type = SOCK_STREAM,
               int protocol = 0, int patience_ms = 5000) {
    const SocketAddress to = SocketAddress::From(ip, port);
    const Status done = ns->Run([&]() -> Status {
      fd_ = ::socket(to.any.sa_family, type | SOCK_CLOEXEC, protocol);
      const timeval patience{patience_ms / 1000, (patience_ms % 1000) * 1000};
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      failed_ = ::connect(fd_, &to.any, to.size()) == 0 ? 0 : errno;
      return {};
    });
    EXPECT_TRUE(done);
  }
  ~AskingSocket() { ::close(fd_); }
  // What the server says: "pod-a 10.1.0.2"; or "refused", "timeout", or what went wrong.
  std::string Ask(const std::string& question = "?") {
    if (failed_) return Word(failed_);
    ::send(fd_, question.data(), question.size(), MSG_NOSIGNAL);
    char buffer[1024];
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    return size < 0 ? Word(errno) : std::string(buffer, static_cast<std::size_t>(size));
  }

 private:
  static std::string Word(int error) {
    if (error == ECONNREFUSED) return "refused";
    if (error == EAGAIN || error == EINPROGRESS || error == ETIMEDOUT) return "timeout";
    return std::strerror(error);
  }
  int fd_ = -1, failed_ = 0;
};

inline std::string AskOnce(const NetworkNamespace::Ptr& ns, const std::string& ip, int port,
                           int type = SOCK_STREAM, int protocol = 0, int patience_ms = 5000) {
  return AskingSocket(ns, ip, port, type, protocol, patience_ms).Ask();
}

class SmallNetwork {
 public:
  SmallNetwork() : node_(NewNamespace()) {
    const Status done = node_->Run([]() -> Status {
      std::ofstream("/proc/sys/net/ipv4/ip_forward") << "1";
      std::ofstream("/proc/sys/net/ipv6/conf/all/forwarding") << "1";
      FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
      return netlink->SetUp("lo");
    });
    EXPECT_TRUE(done) << done.error().message();
  }

  const NetworkNamespace::Ptr& node() const { return node_; }
  // A namespace with these addresses that reaches everything by the node; the node's link to it is called
  // `link`. `node_ips` are the node's on that link, which clients outside know.
  NetworkNamespace::Ptr AddHost(const std::string& link, const std::vector<std::string>& ips,
                                const std::vector<std::string>& node_ips = {}) {
    const NetworkNamespace::Ptr host = NewNamespace();
    Status done = node_->Run([&]() -> Status {
      FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
      FLYBALL_TRY(netlink->AddVeth(link, "eth0", *host, 1500));
      std::ofstream("/proc/sys/net/ipv6/conf/" + link + "/accept_dad") << "0";
      FLYBALL_TRY(netlink->SetUp(link));
      for (const std::string& ip : node_ips) FLYBALL_TRY(netlink->AddAddress(link, Single(ip)));
      FLYBALL_ASSIGN(const Link found, netlink->FindLink(link));
      FLYBALL_TRY(netlink->AddAddress(link, Single("169.254.1.1")));
      FLYBALL_TRY(netlink->AddAddress(link, Single("fe80::1")));
      for (const std::string& ip : ips)
        FLYBALL_TRY(netlink->ReplaceRoute({.destination = Single(ip), .link = found.index}));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    done = host->Run([&]() -> Status {
      FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
      std::ofstream("/proc/sys/net/ipv6/conf/eth0/accept_dad") << "0";
      FLYBALL_TRY(netlink->SetUp("lo"));
      FLYBALL_TRY(netlink->SetUp("eth0"));
      for (const std::string& ip : ips) FLYBALL_TRY(netlink->AddAddress("eth0", Single(ip)));
      FLYBALL_ASSIGN(const Link found, netlink->FindLink("eth0"));
      for (const auto& [all, gateway] : {std::pair("0.0.0.0/0", "169.254.1.1"), std::pair("::/0", "fe80::1")})
        FLYBALL_TRY(netlink->ReplaceRoute({.destination = *api::ParseCidr(all),
                                           .link = found.index,
                                           .gateway = *api::ParseIp(gateway),
                                           .on_link = true}));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    return host;
  }

 private:
  static api::Cidr Single(const std::string& ip) {
    const api::IpAddress address = *api::ParseIp(ip);
    return {address, address.is_v4 ? 32 : 128};
  }

  const NetworkNamespace::Ptr node_;
};

}  // namespace flyball::network
