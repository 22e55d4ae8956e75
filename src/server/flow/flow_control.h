// Flow control: how many requests run at once, and who waits (upstream: API priority and fairness, in a
// simple form). See docs/flow-control.md.
//
// A request belongs to a priority level by the first FlowSchema that matches it. Each level has seats: its
// share of the total. A request takes as many as its work is large (WorkSize). One that finds too few free
// waits in its flow's queue, or is refused where the level does not queue or the queue is full. Freed seats
// go to the flow that runs least, in turn: one greedy user cannot starve another. Exempt levels are never
// limited; long-running requests (watches, logs, exec) are counted apart and hold no seat.
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
#include "server/request/work_size.h"

namespace flyball::server {

// Thread-safe. Shared with the requests it admitted and the timers of those that wait. The metrics must
// outlive them.
class FlowControl : public std::enable_shared_from_this<FlowControl> {
 public:
  // `total_seats` is shared by all levels; zero: no limit.
  static std::shared_ptr<FlowControl> Make(const Catalog& catalog, int total_seats, Metrics& metrics);

 private:
  struct Level;
  FlowControl(const Catalog& catalog, int total_seats, Metrics& metrics);

 public:
  // Seats, given back when destroyed.
  class Ticket {
   public:
    Ticket() = default;
    // `level` null: no seat, only the gauge.
    Ticket(std::shared_ptr<FlowControl> control, Gauge& gauge, std::shared_ptr<Level> level = nullptr,
           std::string flow = {}, int seats = 0)
        : control_(std::move(control)),
          gauge_(&gauge),
          level_(std::move(level)),
          flow_(std::move(flow)),
          seats_(seats) {
      gauge_->Add(1);
    }
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(control_, other.control_);
      std::swap(gauge_, other.gauge_);
      std::swap(level_, other.level_);
      std::swap(flow_, other.flow_);
      std::swap(seats_, other.seats_);
      return *this;
    }
    ~Ticket();

   private:
    std::shared_ptr<FlowControl> control_;
    Gauge* gauge_ = nullptr;
    std::shared_ptr<Level> level_;
    std::string flow_;
    int seats_ = 0;
  };

  // Waits for seats. TooManyRequests (429, retry after 1 s) if there is none and no room to wait, or none in
  // time. Says in the scope which schema and level the request belongs to.
  Task<Result<Ticket>> Admit(RequestScope& scope, const WorkSize& work);

 private:
  struct Waiter;
  struct Flow {
    int running = 0;  // seats
    std::deque<std::shared_ptr<Waiter>> waiting;
  };
  struct Level {
    PriorityLevel config;
    int seats = 0;
    int most_seats = 1;  // of one request (upstream: MaxSeatsTracker)
    int running = 0;     // seats
    int waiting = 0;     // requests
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
    int most_seats = 1;
  };
  enum class Entry { kSeat, kWait, kRefused };

  Place Classify(RequestScope& scope);
  void Refresh() FLYBALL_REQUIRES(mu_);
  Entry Enter(Level& level, const std::string& flow, int seats) FLYBALL_REQUIRES(mu_);
  void Enqueue(const std::shared_ptr<Level>& level, const std::string& flow,
               const std::shared_ptr<Waiter>& waiter, Executor& executor) FLYBALL_REQUIRES(mu_);
  void GiveUp(Level& level, const std::string& flow, const std::shared_ptr<Waiter>& waiter);
  std::shared_ptr<Waiter> NextWaiter(Level& level) FLYBALL_REQUIRES(mu_);
  void Release(const std::shared_ptr<Level>& level, const std::string& flow, int seats);

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
