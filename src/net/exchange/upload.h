// Upload: the body of a request that is still being written while its response is read, as the streams of
// gRPC need it. HTTP/2 only.
#pragma once

#include <string>
#include <string_view>

#include "base/run/mutex.h"
#include "base/values/unique_function.h"
#include "net/exchange/trailer_sink.h"

namespace flyball::net {

// Thread-safe. Holds what the connection has not taken yet: the writer sees to it that this is bounded.
class Upload {
 public:
  // Queues. What comes after End is dropped.
  void Write(std::string_view bytes);
  // Nothing more follows.
  void End();

  // For the connection. `grown` is called after each Write and End, on the writer's thread, until it is
  // replaced. It must not call back.
  void OnGrowth(Closure grown);
  std::size_t pending() const;
  bool ended() const;
  // Moves the first `size` bytes, at most pending(), to the end of `out`.
  void Take(std::size_t size, std::string& out);

 private:
  mutable Mutex mu_;
  std::string bytes_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  Closure grown_ FLYBALL_GUARDED_BY(mu_);
};

// The sink of a request whose body is an Upload instead of Request::body.
class UploadingSink : public TrailerSink {
 public:
  virtual std::shared_ptr<Upload> upload() = 0;
};

}  // namespace flyball::net
