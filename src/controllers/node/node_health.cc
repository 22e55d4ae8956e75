#include "controllers/node/node_health.h"

#include <algorithm>
#include <utility>

namespace flyball::controllers {
namespace {

// A zone with fewer silent nodes than this does not count as disrupted, whatever their share.
constexpr int kFewSilentNodes = 2;

}  // namespace

TimePoint Heartbeats::LastHeard(const std::string& node, const std::string& sign, TimePoint first,
                                TimePoint now) {
  MutexLock lock(mu_);
  const auto found = entries_.find(node);
  if (found == entries_.end()) return entries_.emplace(node, Entry{sign, first}).first->second.at;
  if (found->second.sign != sign) found->second = {sign, now};
  return found->second.at;
}

bool Heartbeats::Register(const std::string& node, const std::string& uid) {
  MutexLock lock(mu_);
  std::string& known = registered_[node];
  return std::exchange(known, uid) != uid;
}

std::optional<std::string> Heartbeats::Forget(const std::string& node) {
  MutexLock lock(mu_);
  entries_.erase(node);
  const auto found = registered_.extract(node);
  return found ? std::optional(found.mapped()) : std::nullopt;
}

void Heartbeats::ResetAll(TimePoint now) {
  MutexLock lock(mu_);
  for (auto& [node, entry] : entries_) entry.at = now;
}

ZoneHealth::Change ZoneHealth::Note(const std::string& node, const std::string& zone, bool ready) {
  MutexLock lock(mu_);
  nodes_[node] = {zone, ready};
  return Judge();
}

ZoneHealth::Change ZoneHealth::Forget(const std::string& node) {
  MutexLock lock(mu_);
  nodes_.erase(node);
  return Judge();
}

ZoneHealth::Change ZoneHealth::Judge() {
  const bool down = !nodes_.empty() && std::none_of(nodes_.begin(), nodes_.end(),
                                                    [](const auto& entry) { return entry.second.ready; });
  if (std::exchange(all_down_, down) == down) return Change::kNone;
  return down ? Change::kAllDown : Change::kNoLongerAllDown;
}

bool ZoneHealth::all_down() const {
  MutexLock lock(mu_);
  return all_down_;
}

double ZoneHealth::RateOf(const std::string& zone) const {
  int ready = 0, silent = 0;
  for (const auto& [name, node] : nodes_)
    if (node.zone == zone) ++(node.ready ? ready : silent);
  const bool partly = ready > 0 && silent > kFewSilentNodes &&
                      static_cast<double>(silent) / (silent + ready) >= options_.unhealthy_zone_threshold;
  if (!partly) return options_.node_eviction_rate;
  return silent + ready > options_.large_cluster_size_threshold ? options_.secondary_node_eviction_rate : 0;
}

std::optional<Duration> ZoneHealth::Turn(const std::string& zone, TimePoint now) {
  MutexLock lock(mu_);
  const double rate = all_down_ ? 0 : RateOf(zone);
  if (rate <= 0) return std::nullopt;
  const auto last = last_turn_.find(zone);
  const auto between = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
  if (last != last_turn_.end() && last->second + between > now) return last->second + between - now;
  last_turn_[zone] = now;
  return Duration::zero();
}

void ZoneHealth::GiveBack(const std::string& zone) {
  MutexLock lock(mu_);
  last_turn_.erase(zone);
}

std::vector<std::string> ZoneHealth::nodes() const {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

}  // namespace flyball::controllers
