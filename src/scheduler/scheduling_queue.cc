#include "scheduler/scheduling_queue.h"

#include <algorithm>

namespace flyball::scheduler {

Duration SchedulingQueue::BackoffOf(int attempts) {
  Duration backoff = kInitialBackoff;
  for (int i = 1; i < attempts && backoff < kMaxBackoff; ++i) backoff *= 2;
  return std::min(backoff, kMaxBackoff);
}

void SchedulingQueue::Leave(Item& item) {
  if (item.place == Place::kActive) active_.erase(item.key);
  if (item.place == Place::kParked) --parked_;
  if (item.place == Place::kBackoff) --backing_off_;
}

void SchedulingQueue::Move(Item& item, Place place, SteadyTime now) {
  Leave(item);
  item.place = place;
  item.since = now;
  if (place == Place::kParked) ++parked_;
  if (place == Place::kBackoff) ++backing_off_;
  if (place != Place::kActive) return;
  item.key = {now < item.expiry, -static_cast<std::int64_t>(item.pod->priority), item.age};
  active_[item.key] = item.pod->uid();
}

void SchedulingQueue::Put(PodInfoPtr pod, SteadyTime now, bool try_now) {
  const auto [it, added] = pods_.try_emplace(pod->uid());
  Item& item = it->second;
  item.pod = std::move(pod);
  if (added) {
    item.age = next_age_++;
    item.place = Place::kTaken;
    Move(item, Place::kActive, now);
  } else if (try_now && item.place == Place::kParked) {
    Move(item, Place::kActive, now);
  }
}

void SchedulingQueue::Remove(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Leave(found->second);
  pods_.erase(found);
}

std::optional<SchedulingQueue::Entry> SchedulingQueue::Take(SteadyTime now) {
  if (active_.empty()) return std::nullopt;
  Item& item = pods_.at(active_.begin()->second);
  Move(item, Place::kTaken, now);
  ++item.attempts;
  return Entry{item.pod, item.attempts};
}

void SchedulingQueue::Park(const std::string& uid, SteadyTime now) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.expiry = now + BackoffOf(found->second.attempts);
  Move(found->second, Place::kParked, now);
}

Duration SchedulingQueue::Fail(const std::string& uid, SteadyTime now) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return {};
  const Duration backoff = BackoffOf(found->second.attempts);
  found->second.expiry = now + backoff;
  Move(found->second, Place::kBackoff, now);
  return backoff;
}

void SchedulingQueue::Wake(const std::function<bool(const PodInfo&)>& helps, SteadyTime now) {
  if (parked_ == 0) return;
  for (auto& [uid, item] : pods_)
    if (item.place == Place::kParked && helps(*item.pod)) Move(item, Place::kActive, now);
}

std::optional<SteadyTime> SchedulingQueue::Advance(SteadyTime now) {
  if (parked_ == 0 && backing_off_ == 0) return std::nullopt;
  std::optional<SteadyTime> next;
  for (auto& [uid, item] : pods_) {
    if (item.place != Place::kBackoff && item.place != Place::kParked) continue;
    const SteadyTime due = item.place == Place::kBackoff ? item.expiry : item.since + kMaxUnschedulable;
    if (due <= now)
      Move(item, Place::kActive, now);
    else
      next = next ? std::min(*next, due) : due;
  }
  return next;
}

}  // namespace flyball::scheduler
