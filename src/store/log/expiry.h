// Expiry: time to live in the store.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "store/store.h"

namespace flyball::store {

// Deletes keys whose time has come, by ordinary commits, each conditional on the key not having changed
// since. Thread-safe.
class Expiry {
 public:
  // `store` gets the commits; the owner must Close before the store goes.
  Expiry(Executor& executor, Store& store);

  // The version of `key` written at `revision` ends at `unix_ms`.
  void Add(std::string key, Revision revision, std::int64_t unix_ms);
  void Close() { alarm_.Close(); }

 private:
  struct Deadline {
    std::int64_t unix_ms;
    Revision revision;
    std::string key;
    bool operator>(const Deadline& other) const { return unix_ms > other.unix_ms; }
  };

  void Ring();
  void Arm(std::int64_t unix_ms);
  void Delete(Deadline deadline);

  Executor& executor_;
  Store& store_;
  Mutex mu_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_ FLYBALL_GUARDED_BY(mu_);
  Alarm alarm_;
};

}  // namespace flyball::store
