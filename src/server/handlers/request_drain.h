// RequestDrain: the requests under way, and the end of taking more (upstream: WithRetryAfter and
// WithWaitGroup,
// --shutdown-send-retry-after).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/run/mutex.h"
#include "base/values/unique_function.h"
#include "server/request/answer.h"

namespace flyball::server {

// Thread-safe.
class RequestDrain {
 public:
  // A request under way, until it is destroyed. Movable.
  class Ticket {
   public:
    explicit Ticket(RequestDrain* drain) : drain_(drain) {}
    Ticket(Ticket&& other) noexcept : drain_(std::exchange(other.drain_, nullptr)) {}
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(drain_, other.drain_);
      return *this;
    }
    ~Ticket() {
      if (drain_) drain_->Leave();
    }

   private:
    RequestDrain* drain_;  // null: not counted
  };

  // What is asked of a server that ends, however late: its health, its metrics.
  static bool IsExempt(std::string_view path, std::string_view user_agent);

  // nullopt: no more requests are taken; answer with Refusal(). `counted`: Close waits for it. Watches and
  // the like are not, because they end only when they are told to.
  std::optional<Ticket> Enter(bool counted);
  static Answer Refusal();

  // From now on Enter refuses. `done` is called once those that are counted have ended, at once if none is
  // under way. Once only.
  void Close(Closure done);

 private:
  void Leave();

  Mutex mu_;
  std::size_t running_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  Closure done_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
