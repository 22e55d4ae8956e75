// ReconcileLog: what the controllers of a program did lately: which key, woken by what, how long it waited
// and took, what was written, and how it ended. For people who ask what happened to an object (`flyball
// trace`).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/client.h"
#include "controller/worker/action.h"

namespace flyball {

// One reconcile.
struct ReconcileRecord {
  std::string controller, kind;  // the kind of the key's object; "" if the controller has none of its own
  ObjectKey key;
  std::string cause;  // "Pod default/web-1 added", "retry 3", or "" if nothing woke it: a timer
  TimePoint began{};
  Duration waited{}, took{};
  std::vector<std::string> writes;  // "ReplicaSet default/web-1 at 52", "Pod default/web-2 deleted"
  std::string outcome;              // "done", "again", "again in 5s", or the error
};

// Thread-safe. Keeps the last records, up to a number; what falls out is forgotten. The clock outlives it.
class ReconcileLog {
 public:
  static constexpr std::size_t kMostRecords = 4096;
  // Keys that were woken and not yet taken. Causes of further ones are not kept.
  static constexpr std::size_t kMostPending = 16384;

  explicit ReconcileLog(const Clock& clock) : clock_(clock) {}

  // A change has put the key into the controller's queue. The first one until it is taken counts.
  void Woken(const std::string& controller, const ObjectKey& key, const std::string& cause);

  // A reconcile that is under way. Thread-safe.
  class Running {
   public:
    // The observer for its client, in front of `next`, which may be null.
    static std::shared_ptr<WriteObserver> Observe(std::shared_ptr<Running> running,
                                                  std::shared_ptr<WriteObserver> next);

   private:
    friend class ReconcileLog;
    class Observer;
    Mutex mu_;
    ReconcileRecord record_ FLYBALL_GUARDED_BY(mu_);
    SteadyTime began_{};
  };
  std::shared_ptr<Running> Begin(const std::string& controller, const std::string& kind, const ObjectKey& key,
                                 int failures);
  void End(Running& running, const Result<Action>& result);

  // Oldest first.
  std::vector<ReconcileRecord> Records() const;
  // The same: {"items": [{controller, kind, namespace, name, cause, began, waitedSeconds, tookSeconds,
  // writes, outcome}]}.
  std::string ToJson() const;

 private:
  struct Pending {
    std::string cause;
    SteadyTime since{};
  };
  const Clock& clock_;
  mutable Mutex mu_;
  std::map<std::pair<std::string, ObjectKey>, Pending> pending_ FLYBALL_GUARDED_BY(mu_);
  std::deque<ReconcileRecord> records_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
