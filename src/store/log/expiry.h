// Expiry: time to live in the store.
#pragma once

#include <cstdint>
#include <map>
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
    std::int64_t unix_ms = 0;
    Revision revision = 0;
    std::string key{};
  };
  // The deadlines of about a second, packed: keys that follow one another mostly begin alike, and Events are
  // many.
  class Batch {
   public:
    void Add(const Deadline& deadline);
    // Takes out all that are due.
    std::vector<Deadline> TakeDue(std::int64_t now);
    bool empty() const { return packed_.empty(); }
    std::int64_t earliest() const { return earliest_; }

   private:
    struct Head {
      std::int64_t unix_ms;
      Revision revision;
      std::uint32_t shared,
          rest;  // of the key: what it has in common with the one before, and how much follows
    };
    std::string packed_;  // a Head and the rest of the key, again and again
    std::string last_key_;
    std::int64_t earliest_ = INT64_MAX;
  };
  static constexpr std::int64_t kBatchMs = 1024;

  void Ring();
  void Arm(std::int64_t unix_ms);
  void Delete(Deadline deadline);

  Executor& executor_;
  Store& store_;
  Mutex mu_;
  std::map<std::int64_t, Batch> batches_ FLYBALL_GUARDED_BY(mu_);  // by unix_ms / kBatchMs
  Alarm alarm_;
};

}  // namespace flyball::store
