// What all connections of one server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/run/random.h"
#include "net/http/http.h"
#include "net/http/server_limits.h"

namespace flyball::net {

class ServerStream;

// Thread-safe.
struct ServerContext {
  Handler handler;
  ServerLimits limits;
  double goaway_chance = 0;
  Random* random = nullptr;  // null only if there is no chance
  std::atomic<std::size_t> running_handlers{0};
  std::atomic<std::size_t> open_connections{0};
  std::atomic<bool> shutting_down{false};
  std::atomic<std::size_t> buffered_bytes{0};  // of requests that arrive or are being handled
};

// The share of one request in limits.max_buffered_bytes, from its first byte until it was handled; given back
// when destroyed. Confined to its connection, then to its handler.
class BodyShare {
 public:
  explicit BodyShare(std::shared_ptr<ServerContext> context) : context_(std::move(context)) {}
  ~BodyShare() { context_->buffered_bytes.fetch_sub(size_); }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // False if there is not that much left. What is smaller than before always fits.
  bool Resize(std::size_t size) {
    const std::size_t before = context_->buffered_bytes.fetch_add(size - size_);  // modulo 2^64 if smaller
    const bool fits = size <= size_ || before + (size - size_) <= context_->limits.max_buffered_bytes;
    size_ = size;
    return fits;
  }

 private:
  const std::shared_ptr<ServerContext> context_;
  std::size_t size_ = 0;
};

// Runs the handler on the stream's loop. `done` runs when the handler's task has ended, on whatever thread it
// ends. A handler that throws before it has answered is answered for with 500. `share` (may be null) is the
// request's until then.
void Dispatch(const std::shared_ptr<ServerContext>& context, std::shared_ptr<Request> request,
              std::unique_ptr<BodyShare> share, const std::shared_ptr<ServerStream>& stream, Closure done);

// A Kubernetes Status as JSON, for the failures that happen before any handler.
std::string StatusJson(int code, std::string_view reason, std::string_view message);

}  // namespace flyball::net
