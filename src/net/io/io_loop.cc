#include "net/io/io_loop.h"

#include <exception>
#include <optional>

#include "base/observe/log.h"
#include "net/io/asio.h"

namespace flyball::net {

namespace {

thread_local const IoLoop* current_loop = nullptr;

// How often what is queued when a loop ends may queue more that still runs.
constexpr int kLastRounds = 10;

// A closure must not throw; if one does, the others of its loop still run.
void RunGuarded(const Closure& fn) {
  try {
    fn();
  } catch (const std::exception& e) {
    log::Error("exception on an I/O thread", {{"what", e.what()}});
  } catch (...) {
    log::Error("unknown exception on an I/O thread");
  }
}

}  // namespace

struct IoLoop::Reactor {
  boost::asio::io_context context{1};
  boost::asio::steady_timer timer{context};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
};

IoLoop::IoLoop(std::string name) : reactor_(std::make_unique<Reactor>()) {
  scratch_.input.resize(kInputBytes);
  thread_ = Thread(std::move(name), [this] { Run(); });
}

IoLoop::~IoLoop() {
  Stop();
}

boost::asio::io_context& IoLoop::context() {
  return reactor_->context;
}

bool IoLoop::OnThisThread() const {
  return current_loop == this;
}

void IoLoop::Run() {
  current_loop = this;
  while (!reactor_->context.stopped()) RunGuarded([this] { reactor_->context.run(); });
}

void IoLoop::Stop() {
  if (!reactor_) return;
  Post([this] { EndAfter(kLastRounds); });
  thread_.Join();
  std::vector<Closure> dropped;
  std::map<TimerKey, Closure> dropped_timers;
  {
    MutexLock lock(mu_);
    dropped.swap(posted_);
    dropped_timers.swap(timers_);
    timer_times_.clear();
  }
  dropped.clear();
  dropped_timers.clear();
  // Operations that were still waiting go with the reactor; they hold connections, which hold this loop.
  reactor_ = nullptr;
}

void IoLoop::EndAfter(int rounds) {
  {
    MutexLock lock(mu_);
    if (rounds == 0 || posted_.empty()) {
      stopped_ = true;
      reactor_->context.stop();
      return;
    }
  }
  Post([this, rounds] { EndAfter(rounds - 1); });
}

void IoLoop::Post(Closure fn) {
  MutexLock lock(mu_);
  if (stopped_) return;
  posted_.push_back(std::move(fn));
  // Under the lock, so that Stop cannot take the reactor away in between. It never blocks nor runs anything.
  if (!std::exchange(wake_pending_, true)) boost::asio::post(reactor_->context, [this] { RunPosted(); });
}

void IoLoop::RunPosted() {
  std::vector<Closure> batch;
  {
    MutexLock lock(mu_);
    wake_pending_ = false;
    batch.swap(posted_);
  }
  for (auto& fn : batch) {
    RunGuarded(fn);
    fn = nullptr;  // what it owns goes now, not when the batch is over
  }
}

TimerId IoLoop::PostAt(SteadyTime when, Closure fn) {
  TimerId id = kNoTimer;
  bool first = false;
  {
    MutexLock lock(mu_);
    if (stopped_) return kNoTimer;
    id = next_timer_++;
    const auto added = timers_.emplace(TimerKey(when, id), std::move(fn)).first;
    first = added == timers_.begin();
    timer_times_.emplace(id, when);
  }
  if (!first) return id;
  if (OnThisThread())
    ArmTimer();
  else
    Post([this] { ArmTimer(); });
  return id;
}

bool IoLoop::Cancel(TimerId id) {
  Closure dropped;  // destroyed outside the lock: it may own anything
  MutexLock lock(mu_);
  const auto it = timer_times_.find(id);
  if (it == timer_times_.end()) return false;
  const auto timer = timers_.find({it->second, id});
  dropped = std::move(timer->second);
  timers_.erase(timer);
  timer_times_.erase(it);
  return true;
}

void IoLoop::ArmTimer() {
  std::optional<SteadyTime> next;
  {
    MutexLock lock(mu_);
    if (!timers_.empty()) next = timers_.begin()->first.first;
  }
  if (!next) return;
  reactor_->timer.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(*next));
  reactor_->timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) RunTimers();
  });
}

void IoLoop::RunTimers() {
  const SteadyTime now = clock().Steady();
  for (;;) {
    Closure fn;
    {
      MutexLock lock(mu_);
      if (timers_.empty() || timers_.begin()->first.first > now) break;
      const auto first = timers_.begin();
      timer_times_.erase(first->first.second);
      fn = std::move(first->second);
      timers_.erase(first);
    }
    RunGuarded(fn);
  }
  ArmTimer();
}

}  // namespace flyball::net
