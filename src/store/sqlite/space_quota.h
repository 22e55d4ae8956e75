// SpaceQuota: how much room a store may take, and the alarm that is raised when it would take more (etcd's
// NOSPACE). While the alarm is on, transactions that put anything are refused; deletions and compaction go
// on, and once they have freed space and brought the store well below its quota the alarm goes off by itself.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/run/mutex.h"
#include "base/values/error.h"
#include "store/store.h"

namespace flyball::store {

// etcd's words, which operators search for.
Error NoSpaceError();

class SpaceQuota {
 public:
  // `limit` in bytes; 0: none.
  explicit SpaceQuota(std::int64_t limit) : limit_(limit) {}

  // What a transaction will take at most; 0 if it only deletes.
  static std::int64_t CostOf(const Transaction& transaction);

  enum class Verdict : std::uint8_t { kAdmitted, kRefused, kAlarmRaised };
  // kAlarmRaised: refused, and it is the first. What is admitted counts until Finish.
  Verdict Admit(std::int64_t cost);
  // Transactions of this cost altogether have been written, or have failed.
  void Finish(std::int64_t cost);

  // Whether the real size should be looked up: asking costs more than counting along.
  bool WantsMeasure() const;
  // True: the alarm has just gone off.
  bool Measured(std::int64_t used);

  bool alarm() const;
  std::int64_t used() const;
  std::int64_t limit() const { return limit_; }

 private:
  const std::int64_t limit_;
  mutable Mutex mu_;
  std::int64_t used_ FLYBALL_GUARDED_BY(mu_) = 0;     // as measured
  std::int64_t written_ FLYBALL_GUARDED_BY(mu_) = 0;  // since then
  std::int64_t pending_ FLYBALL_GUARDED_BY(mu_) = 0;  // admitted, not finished
  bool alarm_ FLYBALL_GUARDED_BY(mu_) = false;
  std::int64_t used_at_alarm_ FLYBALL_GUARDED_BY(mu_) = -1;  // first measured since; -1: not yet
};

}  // namespace flyball::store
