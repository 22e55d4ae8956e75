// TcpDialer: plain connections to anywhere, as Duplex.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "net/http/http.h"

namespace flyball::net {

class IoLoop;

// Thread-safe. One I/O thread, which starts with the first connection; or the loop it is given.
class TcpDialer {
 public:
  explicit TcpDialer(Duration timeout, std::shared_ptr<IoLoop> loop = nullptr);
  // Closes every connection.
  ~TcpDialer();

  // `done` gets the connection, or kConnection or kTimeout. End closes the sending side alone.
  void Dial(const std::string& host, int port, UniqueFunction<void(Result<std::shared_ptr<Duplex>>)> done);
  // As Dial, with a socket that is connected and non-blocking: it belongs to the dialer from then on.
  void Adopt(int fd, UniqueFunction<void(Result<std::shared_ptr<Duplex>>)> done);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace flyball::net
