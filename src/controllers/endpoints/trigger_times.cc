#include "controllers/endpoints/trigger_times.h"

#include <algorithm>

#include "api/values/time.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {

std::optional<api::Time> TriggerTimes::Update(const Service& service,
                                              const std::vector<std::shared_ptr<const Pod>>& pods) {
  std::optional<api::Time> earliest;
  const auto note = [&](const api::Time& time) { earliest = std::min(earliest.value_or(time), time); };
  Seen now;
  now.service = service.metadata.creation_timestamp;
  for (const auto& pod : pods)
    if (const auto changed = ReadyTransition(*pod)) now.pods[pod->metadata.name] = *changed;
  MutexLock lock(mu_);
  Seen& before = seen_[service.metadata.namespace_ + "/" + service.metadata.name];
  if (now.service && before.service < now.service) note(*now.service);
  for (const auto& [name, time] : now.pods) {
    const auto known = before.pods.find(name);
    if (known == before.pods.end() || known->second < time) note(time);
  }
  before = std::move(now);
  return earliest;
}

void TriggerTimes::Forget(const ObjectKey& service) {
  MutexLock lock(mu_);
  seen_.erase(service.ToString());
}

void NoteTriggerTime(ObjectMeta& meta, const std::optional<api::Time>& time) {
  if (time)
    meta.annotations[kTriggerTime] = api::FormatTime(*time);
  else
    meta.annotations.erase(kTriggerTime);
}

}  // namespace flyball::controllers
