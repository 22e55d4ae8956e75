// What all connections of one server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "net/http.h"
#include "net/http_server.h"

namespace flyball::net {

class ServerStream;

// Thread-safe.
struct ServerContext {
  Handler handler;
  ServerLimits limits;
  std::atomic<std::size_t> running_handlers{0};
  std::atomic<std::size_t> open_connections{0};
  std::atomic<bool> shutting_down{false};
};

// Runs the handler on the stream's loop. `done` runs when the handler's task has ended. A handler that throws
// before it has answered is answered for with 500.
void Dispatch(const std::shared_ptr<ServerContext>& context, std::shared_ptr<Request> request,
              const std::shared_ptr<ServerStream>& stream, Closure done);

// A Kubernetes Status as JSON, for the failures that happen before any handler.
std::string StatusJson(int code, std::string_view reason, std::string_view message);

}  // namespace flyball::net
