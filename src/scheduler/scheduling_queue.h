// SchedulingQueue: pods without a node, in one of three states: ready to be tried; in back-off after an
// error; unschedulable until something changes that could help (upstream: the scheduling queue).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "base/run/clock.h"
#include "scheduler/snapshot/pod_info.h"

namespace flyball::scheduler {

inline constexpr Duration kInitialBackoff = std::chrono::seconds(1);
inline constexpr Duration kMaxBackoff = std::chrono::seconds(10);
// A pod is retried after this long even if nothing happens.
inline constexpr Duration kMaxUnschedulable = std::chrono::minutes(5);

// Confined to the scheduler's strand.
class SchedulingQueue {
 public:
  struct Entry {
    PodInfoPtr pod;
    int attempts = 0;
  };

  // Adds a pod, or updates one that waits. `try_now`: the change could make it fit.
  void Put(PodInfoPtr pod, SteadyTime now, bool try_now);
  void Remove(const std::string& uid);
  bool Contains(const std::string& uid) const { return pods_.contains(uid); }

  // Returns the next pod to try: first those not in back-off, then by priority, then by age. It stays in the
  // queue, marked as taken, until Remove, Fail or Park.
  std::optional<Entry> Take(SteadyTime now);
  // No node was found: waits until Wake.
  void Park(const std::string& uid, SteadyTime now);
  // Something went wrong: ready again after its back-off, which doubles each time. Returns the back-off.
  Duration Fail(const std::string& uid, SteadyTime now);

  // Makes the unschedulable pods ready for which `helps` holds.
  void Wake(const std::function<bool(const PodInfo&)>& helps, SteadyTime now);
  // Makes pods ready whose waiting time is over. Returns when to call again, if any pod waits.
  std::optional<SteadyTime> Advance(SteadyTime now);

  bool ready() const { return !active_.empty(); }
  std::size_t size() const { return pods_.size(); }
  std::size_t parked() const { return parked_; }

 private:
  enum class Place { kActive, kBackoff, kParked, kTaken };
  using ActiveKey = std::tuple<bool, std::int64_t, std::uint64_t>;  // in back-off, -priority, age
  struct Item {
    PodInfoPtr pod;
    Place place = Place::kActive;
    int attempts = 0;
    std::uint64_t age = 0;
    ActiveKey key{};
    SteadyTime since{};   // when it entered its state
    SteadyTime expiry{};  // of its back-off
  };
  void Move(Item& item, Place place, SteadyTime now);
  void Leave(Item& item);
  static Duration BackoffOf(int attempts);

  std::map<std::string, Item> pods_;
  std::map<ActiveKey, std::string> active_;
  std::size_t parked_ = 0, backing_off_ = 0;
  std::uint64_t next_age_ = 0;
};

}  // namespace flyball::scheduler
