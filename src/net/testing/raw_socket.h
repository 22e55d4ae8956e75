// For tests: sockets that send whatever bytes a test wants, on blocking calls.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "base/run/thread.h"

namespace flyball::net {

class RawSocket {
 public:
  explicit RawSocket(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // Nothing here waits for ever, whatever a server does wrong.
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  explicit RawSocket(int accepted, std::nullptr_t) : fd_(accepted) {}
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RawSocket() { Close(); }

  bool Send(std::string_view data) {
    while (!data.empty()) {
      const ssize_t n = send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // What comes until the text does, or the end.
  std::string ReadUntil(std::string_view text) {
    std::string got;
    char buffer[4096];
    while (got.find(text) == std::string::npos) {
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got.append(buffer, static_cast<std::size_t>(n));
    }
    return got;
  }
  std::string ReadAll() {
    std::string got;
    char buffer[65536];
    for (ssize_t n; (n = recv(fd_, buffer, sizeof buffer, 0)) > 0;)
      got.append(buffer, static_cast<std::size_t>(n));
    return got;
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// A proxy that understands CONNECT, for one connection.
class ConnectProxy {
 public:
  explicit ConnectProxy(int target_port) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(listener_, 1);
    thread_ = Thread("proxy", [this, target_port] { Serve(target_port); });
  }
  ~ConnectProxy() {
    shutdown(listener_, SHUT_RDWR);
    close(listener_);
    if (client_) shutdown(client_->fd(), SHUT_RDWR);
    thread_.Join();
  }
  int port() const { return port_; }
  std::string request() {
    MutexLock lock(mu_);
    return request_;
  }

 private:
  static void Copy(int from, int to) {
    char buffer[65536];
    for (ssize_t n; (n = recv(from, buffer, sizeof buffer, 0)) > 0;)
      if (send(to, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) break;
    shutdown(to, SHUT_WR);
  }
  void Serve(int target_port) {
    const int accepted = accept(listener_, nullptr, nullptr);
    if (accepted < 0) return;
    client_ = std::make_unique<RawSocket>(accepted, nullptr);
    const std::string head = client_->ReadUntil("\r\n\r\n");
    {
      MutexLock lock(mu_);
      request_ = head;
    }
    RawSocket target(target_port);
    client_->Send("HTTP/1.1 200 Connection established\r\n\r\n");
    Thread back("proxy-back", [&] { Copy(target.fd(), client_->fd()); });
    Copy(client_->fd(), target.fd());
  }

  int listener_;
  int port_ = 0;
  std::unique_ptr<RawSocket> client_;
  Mutex mu_;
  std::string request_ FLYBALL_GUARDED_BY(mu_);
  Thread thread_;
};

}  // namespace flyball::net
