// What a client of one origin is given.
#pragma once

#include <memory>
#include <string>

#include "base/run/clock.h"
#include "net/tls/tls_options.h"

namespace flyball::net {

class IoLoop;

struct ClientOptions {
  // "https://host:port" or "http://host:port", path prefixes allowed. "h2c://": plain text, HTTP/2 by prior
  // knowledge.
  std::string url{};
  ClientTls tls{};
  std::string proxy_url{};  // "http://host:port": CONNECT is used
  bool http2 = true;
  Duration connect_timeout = std::chrono::seconds(30);
  Duration ping_interval = std::chrono::seconds(30);  // HTTP/2 health check: a dead peer is noticed
  Duration ping_timeout = std::chrono::seconds(15);   // by the missing answer
  int io_threads = 1;
  // Instead of threads of its own: for many clients that do little. It outlives them, and they close their
  // connections soon after they are gone.
  std::shared_ptr<IoLoop> loop{};
};

}  // namespace flyball::net
