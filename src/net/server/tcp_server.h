// TcpServer: a TCP port whose connections are plain bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/http/http.h"
#include "net/io/io_loop.h"

namespace flyball::net {

// Its connections live on the loop it is given. Thread-safe.
class TcpServer {
 public:
  // Runs on the loop. The connection is read once the callee says so; it ends it (Duplex::End or Abort).
  using Accepted = std::function<void(const std::shared_ptr<Duplex>& connection, const std::string& peer)>;

  // Listening when it returns. Beyond `max_connections`, new ones are closed at once.
  static Result<std::unique_ptr<TcpServer>> Start(std::shared_ptr<IoLoop> loop, const std::string& address,
                                                  int port, std::size_t max_connections, Accepted accepted);
  ~TcpServer();  // as Close

  int port() const;
  std::size_t open_connections() const;
  // Accepts no more and closes every connection. Blocks; not on the loop's thread. Idempotent.
  void Close();

 private:
  struct State;
  explicit TcpServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace flyball::net
