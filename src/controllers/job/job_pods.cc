#include "controllers/job/job_pods.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "controller/objects/owner.h"
#include "controller/pods/pod_from_template.h"
#include "controller/pods/pod_state.h"
#include "controllers/job/index_set.h"

namespace flyball::controllers {
namespace {

int NumberIn(const std::map<std::string, std::string>& map, const char* name, int fallback) {
  const auto found = map.find(name);
  if (found == map.end()) return fallback;
  int value = fallback;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

// The first container whose exit code matches the rule.
const ContainerStatus* MatchExitCodes(const PodFailurePolicyOnExitCodesRequirement& rule, const Pod& pod) {
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    for (const ContainerStatus& status : *list) {
      if (!status.state.terminated || status.state.terminated->exit_code == 0) continue;
      if (rule.container_name && *rule.container_name != status.name) continue;
      const bool listed = std::find(rule.values.begin(), rule.values.end(),
                                    status.state.terminated->exit_code) != rule.values.end();
      if (listed == (rule.operator_ == "In")) return &status;
    }
  }
  return nullptr;
}

const PodCondition* MatchConditions(const PodFailurePolicyRule& rule, const Pod& pod) {
  for (const auto& pattern : rule.on_pod_conditions) {
    const PodCondition* condition = FindCondition(pod.status.conditions, pattern.type);
    if (condition && condition->status == pattern.status) return condition;
  }
  return nullptr;
}

FailureVerdict::Action ActionOf(const std::string& name) {
  if (name == "Ignore") return FailureVerdict::Action::kIgnore;
  if (name == "FailJob") return FailureVerdict::Action::kFailJob;
  if (name == "FailIndex") return FailureVerdict::Action::kFailIndex;
  return FailureVerdict::Action::kCount;
}

void AddIndexTo(std::vector<Container>& containers) {
  EnvVar index;
  index.name = "JOB_COMPLETION_INDEX";
  index.value_from.emplace().field_ref.emplace().field_path =
      std::string("metadata.labels['") + kCompletionIndex + "']";
  for (Container& container : containers) {
    const bool has = std::any_of(container.env.begin(), container.env.end(),
                                 [&](const EnvVar& env) { return env.name == index.name; });
    if (!has) container.env.push_back(index);
  }
}

}  // namespace

bool IsIndexed(const Job& job) {
  return job.spec.completion_mode == "Indexed";
}
bool IsSuspended(const Job& job) {
  return job.spec.suspend.value_or(false);
}
bool IsFinished(const Job& job) {
  return IsConditionTrue(job.status.conditions, "Complete") ||
         IsConditionTrue(job.status.conditions, "Failed");
}
bool ReplacesOnlyFailed(const Job& job) {
  return job.spec.pod_replacement_policy == "Failed";
}

int IndexOf(const Pod& pod) {
  return NumberIn(pod.metadata.annotations, kCompletionIndex, -1);
}
IndexFailures FailuresBefore(const Pod& pod) {
  return {NumberIn(pod.metadata.annotations, kIndexFailureCount, 0),
          NumberIn(pod.metadata.annotations, kIndexIgnoredFailureCount, 0)};
}
IndexFailures FailuresWith(const Job& job, const Pod& pod) {
  IndexFailures failures = FailuresBefore(pod);
  ++(Judge(job, pod).action == FailureVerdict::Action::kIgnore ? failures.ignored : failures.counted);
  return failures;
}

bool HasFailed(const Pod& pod, const Job& job) {
  if (pod.status.phase == "Failed") return true;
  // A deleted pod may be gone before it can report that it failed. Where replacement waits for Failed, the
  // controller waits for the report.
  return IsDeleting(pod.metadata) && !ReplacesOnlyFailed(job) && pod.status.phase != "Succeeded";
}

api::Time FinishTime(const Pod& pod, api::Time now) {
  std::optional<api::Time> latest;
  for (const ContainerStatus& status : pod.status.container_statuses)
    if (status.state.terminated && status.state.terminated->finished_at)
      latest = std::max(latest.value_or(api::Time{}), *status.state.terminated->finished_at);
  if (latest) return *latest;
  if (pod.metadata.deletion_timestamp) return *pod.metadata.deletion_timestamp;
  return ReadyTransition(pod).value_or(now);
}

FailureVerdict Judge(const Job& job, const Pod& pod) {
  if (!job.spec.pod_failure_policy || pod.status.phase != "Failed") return {};
  const auto& rules = job.spec.pod_failure_policy->rules;
  const std::string name = pod.metadata.namespace_ + "/" + pod.metadata.name;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PodFailurePolicyRule& rule = rules[i];
    const std::string matching = " matching " + rule.action + " rule at index " + std::to_string(i);
    if (rule.on_exit_codes) {
      if (const ContainerStatus* status = MatchExitCodes(*rule.on_exit_codes, pod))
        return {ActionOf(rule.action), "Container " + status->name + " for pod " + name +
                                           " failed with exit code " +
                                           std::to_string(status->state.terminated->exit_code) + matching};
    } else if (const PodCondition* condition = MatchConditions(rule, pod)) {
      return {ActionOf(rule.action), "Pod " + name + " has condition " + condition->type + matching};
    }
  }
  return {};
}

std::optional<std::string> MatchSuccessPolicy(const Job& job, const std::string& completed_indexes) {
  if (!job.spec.success_policy || !IsIndexed(job)) return std::nullopt;
  const int completions = job.spec.completions.value_or(0);
  const IndexSet done = ParseIndexes(completed_indexes, completions);
  const auto& rules = job.spec.success_policy->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::size_t counted = done.size(), needed = static_cast<std::size_t>(completions);
    if (rules[i].succeeded_indexes) {
      const IndexSet wanted = ParseIndexes(*rules[i].succeeded_indexes, completions);
      counted = static_cast<std::size_t>(
          std::count_if(wanted.begin(), wanted.end(), [&](int index) { return done.contains(index); }));
      needed = wanted.size();
    }
    if (rules[i].succeeded_count) needed = static_cast<std::size_t>(*rules[i].succeeded_count);
    if (counted >= needed) return "Matched rules at index " + std::to_string(i);
  }
  return std::nullopt;
}

Pod NewJobPod(const Job& job, int index, IndexFailures failures) {
  Pod pod = PodFromTemplate(job.spec.template_, job);
  AddFinalizer(pod.metadata, kJobTracking);
  if (index < 0) return pod;
  const std::string number = std::to_string(index);
  pod.metadata.generate_name = job.metadata.name + "-" + number + "-";
  pod.metadata.annotations[kCompletionIndex] = number;
  pod.metadata.labels[kCompletionIndex] = number;
  if (job.spec.backoff_limit_per_index) {
    pod.metadata.annotations[kIndexFailureCount] = std::to_string(failures.counted);
    if (failures.ignored > 0)
      pod.metadata.annotations[kIndexIgnoredFailureCount] = std::to_string(failures.ignored);
  }
  pod.spec.hostname = job.metadata.name + "-" + number;
  AddIndexTo(pod.spec.containers);
  AddIndexTo(pod.spec.init_containers);
  return pod;
}

}  // namespace flyball::controllers
