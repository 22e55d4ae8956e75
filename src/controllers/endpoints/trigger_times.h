// TriggerTimes: the time of the change that an endpoints object is being written for (upstream:
// TriggerTimeTracker). Consumers use it to measure how long a change took to reach them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "informer/informer_factory.h"

namespace flyball::controllers {

inline constexpr char kTriggerTime[] = "endpoints.kubernetes.io/last-change-trigger-time";

// Thread-safe.
class TriggerTimes {
 public:
  // The earliest event since the last call for this Service: its creation, or pods becoming ready or not
  // ready. Nothing if only other things changed.
  std::optional<api::Time> Update(const Service& service,
                                  const std::vector<std::shared_ptr<const Pod>>& pods);
  void Forget(const ObjectKey& service);

 private:
  struct Seen {
    std::optional<api::Time> service;
    std::map<std::string, api::Time> pods;
  };
  Mutex mu_;
  std::map<std::string, Seen> seen_ FLYBALL_GUARDED_BY(mu_);
};

// Sets `time` as an annotation on an object that is about to be written, or removes the annotation if there
// is none.
void NoteTriggerTime(ObjectMeta& meta, const std::optional<api::Time>& time);

}  // namespace flyball::controllers
