// Flow control: how many requests run at once, and who waits (upstream: API priority and fairness, in a
// simple form). See docs/flow-control.md.
//
// A request belongs to a priority level by the first FlowSchema that matches it. Each level has seats: its
// share of the total. A request that finds no seat waits in its flow's queue, or is refused where the level
// does not queue or the queue is full. A freed seat goes to the flow that runs least, in turn: one greedy
// user cannot starve another. Exempt levels are never limited; long-running requests (watches, logs, exec)
// are counted apart and hold no seat.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/mutex.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "server/flow/flow_schema.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Thread-safe. Must outlive the requests it admitted.
class FlowControl {
 public:
  // `total_seats` is shared by all levels; zero: no limit.
  FlowControl(const Catalog& catalog, int total_seats, Metrics& metrics);

 private:
  struct Level;

 public:
  // A seat, given back when destroyed.
  class Ticket {
   public:
    Ticket() = default;
    // `level` null: no seat, only the gauge.
    Ticket(FlowControl& control, Gauge& gauge, std::shared_ptr<Level> level = nullptr, std::string flow = {})
        : control_(&control), gauge_(&gauge), level_(std::move(level)), flow_(std::move(flow)) {
      gauge_->Add(1);
    }
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(control_, other.control_);
      std::swap(gauge_, other.gauge_);
      std::swap(level_, other.level_);
      std::swap(flow_, other.flow_);
      return *this;
    }
    ~Ticket();

   private:
    FlowControl* control_ = nullptr;
    Gauge* gauge_ = nullptr;
    std::shared_ptr<Level> level_;
    std::string flow_;
  };

  // Waits for a seat. TooManyRequests (429, retry after 1 s) if there is none and no room to wait, or none in
  // time. Says in the scope which schema and level the request belongs to.
  Task<Result<Ticket>> Admit(RequestScope& scope);

 private:
  struct Waiter;
  struct Flow {
    int running = 0;
    std::deque<std::shared_ptr<Waiter>> waiting;
  };
  struct Level {
    PriorityLevel config;
    int seats = 0;
    int running = 0, waiting = 0;
    std::map<std::string, Flow> flows;
    std::string last_served;  // flows take turns
  };
  struct Config {
    std::vector<FlowSchema> schemas;
    std::map<std::string, std::shared_ptr<Level>> levels;
  };
  struct Place {
    std::shared_ptr<Level> level;
    std::string flow;
    bool exempt = true;
  };
  enum class Entry { kSeat, kWait, kRefused };

  Place Classify(RequestScope& scope);
  void Refresh() FLYBALL_REQUIRES(mu_);
  Entry Enter(Level& level, const std::string& flow) FLYBALL_REQUIRES(mu_);
  void Enqueue(const std::shared_ptr<Level>& level, const std::string& flow,
               const std::shared_ptr<Waiter>& waiter, Executor& executor) FLYBALL_REQUIRES(mu_);
  void GiveUp(Level& level, const std::string& flow, const std::shared_ptr<Waiter>& waiter);
  std::shared_ptr<Waiter> NextWaiter(Level& level) FLYBALL_REQUIRES(mu_);
  void Release(const std::shared_ptr<Level>& level, const std::string& flow);

  const std::shared_ptr<ResourceCache> schema_cache_, level_cache_;
  const int total_seats_;
  Mutex mu_;
  std::array<store::Revision, 2> versions_ FLYBALL_GUARDED_BY(mu_) = {-1, -1};
  Config config_ FLYBALL_GUARDED_BY(mu_);
  Counter& rejected_;
  Gauge* running_[2];
  Gauge& long_running_;
};

// Watches, logs, exec, attach, port-forward, proxies: they run as long as they like.
bool IsLongRunning(const RequestInfo& info);

}  // namespace flyball::server
