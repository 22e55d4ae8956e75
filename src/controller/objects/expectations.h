// Expectations: what a controller has requested and not yet seen in its cache (upstream:
// ControllerExpectations). A controller that creates by counting must not count again until its own creations
// and deletions have arrived through the watch, or it would do everything twice.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "client/kind_ref.h"

namespace flyball {

// Thread-safe.
class Expectations {
 public:
  // Expectations expire after this long: it is better to act on a stale cache than never.
  static constexpr Duration kTimeout = std::chrono::minutes(5);

  explicit Expectations(const Clock& clock) : clock_(clock) {}

  // Call before sending the requests. Replaces the expectations of the key.
  void ExpectCreations(const ObjectKey& key, int count);
  // Deletions are tracked by the key of the deleted object, so an object already seen as deleting is not
  // counted twice.
  void ExpectDeletions(const ObjectKey& key, const std::vector<std::string>& object_keys);

  // Call when the change was seen through the watch, or when the request failed and will never be seen.
  void CreationObserved(const ObjectKey& key);
  void DeletionObserved(const ObjectKey& key, const std::string& object_key);

  // Returns true if everything expected was seen, nothing was ever expected, or the expectations have
  // expired.
  bool Satisfied(const ObjectKey& key) const;
  // Call when the controlling object is gone.
  void Forget(const ObjectKey& key);

 private:
  struct Entry {
    int creations = 0;
    std::set<std::string> deletions;
    SteadyTime since{};
  };
  const Clock& clock_;
  mutable Mutex mu_;
  std::unordered_map<ObjectKey, Entry> entries_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
