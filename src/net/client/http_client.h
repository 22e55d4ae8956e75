// HttpClient: a Transport to one origin. HTTP/2 when the server speaks it (one connection shared by many
// streams, another when its streams are all in use), else pooled HTTP/1.1 connections.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "net/http/http.h"

namespace flyball::net {

struct ClientTls {
  std::string ca_pem{};  // empty: the system's roots
  std::string certificate_pem{}, private_key_pem{};
  std::string server_name{};  // empty: the URL's host
  bool insecure_skip_verify = false;
};

struct ClientOptions {
  // "https://host:port" or "http://host:port", path prefixes allowed. "h2c://": plain text, HTTP/2 by prior
  // knowledge.
  std::string url{};
  ClientTls tls{};
  std::string proxy_url{};  // "http://host:port": CONNECT is used
  bool http2 = true;
  Duration connect_timeout = std::chrono::seconds(30);
  Duration ping_interval = std::chrono::seconds(30);  // HTTP/2 health check: a dead peer is noticed
  int io_threads = 1;
};

// Requests sent while nothing answers fail with kConnection; the next one connects anew. Broken connections
// fail what is under way on them. A request that certainly was not processed (GOAWAY, refused stream, stale
// kept-alive connection) is sent again by itself.
Result<std::unique_ptr<Transport>> NewHttpClient(const ClientOptions& options);

}  // namespace flyball::net
