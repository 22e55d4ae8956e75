// HttpServer: HTTP/1.1 and HTTP/2 (by ALPN, or by prior knowledge without TLS) on one port.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::net {

struct ServerTls {
  std::string certificate_pem{};  // with its chain
  std::string private_key_pem{};
  std::string client_ca_pem{};  // empty: client certificates are not asked for
};

struct ServerLimits {
  std::size_t max_body_bytes = 3u << 20;  // Kubernetes' limit; larger bodies get 413
  std::size_t max_header_bytes = 64u << 10;
  // Bodies still arriving, over all connections: a request beyond it gets 429, so that slow uploads cannot
  // eat the memory.
  std::size_t max_buffered_bytes = 256u << 20;
  std::size_t max_connections = 20000;
  std::uint32_t max_streams_per_connection = 250;     // golang's http2 default, as in kube-apiserver
  Duration head_timeout = std::chrono::seconds(32);   // from the first byte to the whole request
  Duration idle_timeout = std::chrono::seconds(90);   // a connection with no request under way
  Duration write_timeout = std::chrono::seconds(60);  // no progress in sending
  std::size_t gzip_threshold = 128u << 10;  // bodies smaller than this are sent as they are, as upstream
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6; "0.0.0.0" and "::" listen on all
  int port = 0;                       // 0: any free one
  const ServerTls* tls = nullptr;     // null: plain text
  ServerLimits limits{};
  int io_threads = 2;
};

// Thread-safe. Listening when Start returns. Handlers run on the I/O threads and must not block them.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> Start(const ServerOptions& options, Handler handler);
  virtual ~HttpServer() = default;  // as Shutdown(0)

  virtual int port() const = 0;
  // Stops accepting, sends GOAWAY, tells streams to close (OnClose), waits up to `grace` for requests under
  // way.
  virtual void Shutdown(Duration grace) = 0;
  virtual std::size_t open_connections() const = 0;
};

}  // namespace flyball::net
