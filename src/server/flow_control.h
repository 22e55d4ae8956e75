// Flow control: how many requests run at once, and who waits (upstream: API priority and fairness, in a
// simple form). See docs/flow-control.md.
//
// Requests are counted against one limit for reads and one for writes; long-running ones (watches, logs,
// proxies) are not counted. Inside a limit no user may hold more than its fair share while others are
// refused: when a limit is reached, a user below its share (limit / active users) is still admitted, up to a
// quarter more than the limit.
#pragma once

#include <map>
#include <string>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"
#include "server/request_scope.h"

namespace flyball::server {

// Thread-safe.
class FlowControl {
 public:
  // Zero: no limit.
  FlowControl(int max_reads, int max_writes, Metrics& metrics);

  // Gives its place back when destroyed.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(FlowControl* flow, bool write, std::string user)
        : flow_(flow), write_(write), user_(std::move(user)) {}
    Ticket(Ticket&& other) noexcept
        : flow_(std::exchange(other.flow_, nullptr)), write_(other.write_), user_(std::move(other.user_)) {}
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(flow_, other.flow_);
      std::swap(write_, other.write_);
      std::swap(user_, other.user_);
      return *this;
    }
    ~Ticket();

   private:
    FlowControl* flow_ = nullptr;
    bool write_ = false;
    std::string user_;
  };

  // TooManyRequests (429, retry after 1 s) if there is no room. system:masters always has room.
  Result<Ticket> Admit(const RequestScope& scope);

 private:
  struct Lane {
    int limit = 0;
    int running = 0;
    std::map<std::string, int> by_user;
  };
  void Release(bool write, const std::string& user);

  Mutex mu_;
  Lane lanes_[2] FLYBALL_GUARDED_BY(mu_);
  Counter& rejected_;
  Gauge* running_[2];
};

// Watches, logs, exec, attach, port-forward, proxies: they run as long as they like.
bool IsLongRunning(const RequestInfo& info);

}  // namespace flyball::server
