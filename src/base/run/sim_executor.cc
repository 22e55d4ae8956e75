#include "base/run/sim_executor.h"

namespace flyball {

SimExecutor::SimExecutor(std::uint64_t seed, Order order) : random_(seed), order_(order) {}

SimExecutor::~SimExecutor() {
  ended_ = true;
  // Closures may own anything, and may post when they are destroyed.
  const auto ready = std::exchange(ready_, {});
  const auto timers = std::exchange(timers_, {});
  when_.clear();
}

void SimExecutor::Post(Closure fn) {
  if (!ended_) ready_.push_back(std::move(fn));
}

TimerId SimExecutor::PostAt(SteadyTime when, Closure fn) {
  const TimerId id = next_id_++;
  if (ended_) return id;
  timers_.emplace(std::pair(when, id), std::move(fn));
  when_.emplace(id, when);
  return id;
}

bool SimExecutor::Cancel(TimerId id) {
  const auto it = when_.find(id);
  if (it == when_.end()) return false;
  timers_.erase({it->second, id});
  when_.erase(it);
  return true;
}

bool SimExecutor::RunOneReady() {
  if (ready_.empty()) return false;
  const std::size_t i = order_ == Order::kFifo ? 0 : random_.Below(ready_.size());
  Closure fn = std::move(ready_[i]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
  fn();
  return true;
}

bool SimExecutor::Step() {
  if (RunOneReady()) return true;
  if (timers_.empty()) return false;
  const auto first = timers_.begin();
  clock_.now = std::max(clock_.now, first->first.first);
  Closure fn = std::move(first->second);
  when_.erase(first->first.second);
  timers_.erase(first);
  fn();
  return true;
}

void SimExecutor::RunReady() {
  while (RunOneReady()) {
  }
}

void SimExecutor::RunFor(Duration d) {
  const SteadyTime end = clock_.now + d;
  RunReady();
  while (!timers_.empty() && timers_.begin()->first.first <= end) {
    Step();
    RunReady();
  }
  clock_.now = end;
}

bool SimExecutor::RunUntil(const std::function<bool()>& done, Duration limit) {
  const SteadyTime end = clock_.now + limit;
  while (!done()) {
    if (ready_.empty() && (timers_.empty() || timers_.begin()->first.first > end)) return false;
    Step();
  }
  return true;
}

}  // namespace flyball
