#include "controller/pods/disruption_target.h"

#include <utility>

#include "controller/objects/condition.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

bool SetDisruptionTarget(Pod& pod, const char* status, std::string reason, std::string message,
                         TimePoint now) {
  auto condition =
      MakeCondition<PodCondition>(kDisruptionTarget, status, std::move(reason), std::move(message), now);
  condition.observed_generation = pod.metadata.generation;
  return SetCondition(pod.status.conditions, std::move(condition), api::Time::From(now));
}

}  // namespace

bool MarkDisrupted(Pod& pod, std::string reason, std::string message, TimePoint now) {
  return SetDisruptionTarget(pod, "True", std::move(reason), std::move(message), now);
}

void UnmarkDisrupted(Pod& pod, TimePoint now) {
  SetDisruptionTarget(pod, "False", "", "", now);
}

}  // namespace flyball::controllers
