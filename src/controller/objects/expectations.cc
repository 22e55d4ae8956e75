#include "controller/objects/expectations.h"

namespace flyball {

void Expectations::ExpectCreations(const ObjectKey& key, int count) {
  MutexLock lock(mu_);
  entries_[key] = {count, {}, clock_.Steady()};
}

void Expectations::ExpectDeletions(const ObjectKey& key, const std::vector<std::string>& object_keys) {
  MutexLock lock(mu_);
  entries_[key] = {0, {object_keys.begin(), object_keys.end()}, clock_.Steady()};
}

void Expectations::CreationObserved(const ObjectKey& key) {
  MutexLock lock(mu_);
  const auto it = entries_.find(key);
  if (it != entries_.end() && it->second.creations > 0) --it->second.creations;
}

void Expectations::DeletionObserved(const ObjectKey& key, const std::string& object_key) {
  MutexLock lock(mu_);
  const auto it = entries_.find(key);
  if (it != entries_.end()) it->second.deletions.erase(object_key);
}

bool Expectations::Satisfied(const ObjectKey& key) const {
  MutexLock lock(mu_);
  const auto it = entries_.find(key);
  if (it == entries_.end()) return true;
  const Entry& entry = it->second;
  return (entry.creations == 0 && entry.deletions.empty()) || clock_.Steady() - entry.since > kTimeout;
}

void Expectations::Forget(const ObjectKey& key) {
  MutexLock lock(mu_);
  entries_.erase(key);
}

}  // namespace flyball
