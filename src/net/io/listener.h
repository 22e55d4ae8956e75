// Listener: a listening socket on a loop: TCP, or Unix.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/values/result.h"
#include "net/io/io_loop.h"

namespace flyball::net {

class Listener {
 public:
  // Listening when it returns. `address`: an IP address, or "unix:///path", which must not be there yet; then
  // there is no port. `accepted` runs on the loop with each new socket, which it owns from then on.
  static Result<std::unique_ptr<Listener>> Open(IoLoop& loop, const std::string& address, int port,
                                                std::function<void(int fd)> accepted);
  ~Listener();  // requires: closed, or the loop has stopped

  int port() const;
  // Blocks until nothing is accepted any more. Not on the loop's thread. Idempotent.
  void Close();

 private:
  struct Acceptor;
  explicit Listener(IoLoop& loop) : loop_(loop) {}
  IoLoop& loop_;
  std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace flyball::net
