// HttpServer: HTTP/1.1 and HTTP/2 (by ALPN, or by prior knowledge without TLS) on one port.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "net/http/server_limits.h"
#include "net/tls/tls_options.h"

namespace flyball::net {

struct ServerOptions {
  std::string address = "127.0.0.1";  // IP ("0.0.0.0" and "::": all), or "unix:///path" (no port)
  int port = 0;                       // 0: any free one
  const ServerTls* tls = nullptr;     // null: plain text
  ServerLimits limits{};
  int io_threads = 2;
  // How likely a request makes its HTTP/2 connection go away once what is under way on it has ended, so that
  // the client opens another, perhaps to another server behind the same load balancer.
  double goaway_chance = 0;
  Random* random = &Random::System();
};

// Thread-safe. Listening when Start returns. Handlers run on the I/O threads and must not block them.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> Start(const ServerOptions& options, Handler handler);
  virtual ~HttpServer() = default;  // as Shutdown(0)

  virtual int port() const = 0;
  // Listens at one more port (0: any free one) of the same address, or of another one, on the same threads,
  // with the same TLS and limits, for requests to another handler. Returns the port.
  virtual Result<int> AlsoListen(int port, Handler handler, const std::string& address = {}) = 0;
  // Connections from now on get this certificate and are asked for client certificates of these authorities;
  // those that are open stay as they are. An error, and no change, if the texts are no good. Requires a
  // server with TLS.
  virtual Status SetTls(const ServerTls& tls) = 0;
  // Stops accepting, sends GOAWAY, tells streams to close (OnClose), waits up to `grace` for requests under
  // way.
  virtual void Shutdown(Duration grace) = 0;
  virtual std::size_t open_connections() const = 0;
};

}  // namespace flyball::net
