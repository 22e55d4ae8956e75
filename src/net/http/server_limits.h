// How much one server takes from its clients.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/run/clock.h"

namespace flyball::net {

struct ServerLimits {
  std::size_t max_body_bytes = 3u << 20;  // Kubernetes' limit; larger bodies get 413
  std::size_t max_header_bytes = 64u << 10;
  // Requests still arriving and bodies being handled, over all connections: one beyond it gets 429, so that
  // slow uploads cannot eat the memory.
  std::size_t max_buffered_bytes = 256u << 20;
  std::size_t max_connections = 20000;
  std::uint32_t max_streams_per_connection = 250;     // golang's http2 default, as in kube-apiserver
  Duration head_timeout = std::chrono::seconds(32);   // from the first byte to the whole request
  Duration idle_timeout = std::chrono::seconds(90);   // a connection with no request under way
  Duration write_timeout = std::chrono::seconds(60);  // no progress in sending
  std::size_t gzip_threshold = 128u << 10;  // bodies smaller than this are sent as they are, as upstream
};

}  // namespace flyball::net
