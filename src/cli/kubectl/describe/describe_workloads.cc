#include <algorithm>

#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_pod.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kReplicaSets{"apps", "v1", "ReplicaSet", "replicasets", true};
const KindRef kWorkloadPods{"", "v1", "Pod", "pods", true};

std::string Number(const json::Value& value, std::int64_t fallback = 0) {
  return std::to_string(value.int_or(fallback));
}

bool OwnedBy(const json::Value& object, const json::Value& owner) {
  const json::Value& owners = object["metadata"]["ownerReferences"];
  return owners.is_array() &&
         std::any_of(owners.as_array().begin(), owners.as_array().end(),
                     [&](const json::Value& o) { return o["uid"] == owner["metadata"]["uid"]; });
}

bool SameTemplate(json::Value a, json::Value b) {
  for (json::Value* tmpl : {&a, &b})
    if (json::Value* labels = tmpl->FindPath({"metadata", "labels"}); labels && labels->is_object())
      labels->as_object().Erase("pod-template-hash");
  return a == b;
}

std::string ReplicaSetLines(Session& session, const json::Value& deployment) {
  std::string older, newest;
  const std::string ns(deployment["metadata"]["namespace"].string_or(""));
  if (const auto sets = ListObjects(session, kReplicaSets, ns)) {
    for (const json::Value& set : *sets) {
      if (!OwnedBy(set, deployment)) continue;
      std::string& into =
          newest.empty() && SameTemplate(set["spec"]["template"], deployment["spec"]["template"]) ? newest
                                                                                                  : older;
      into += (into.empty() ? "" : ", ") + std::string(set["metadata"]["name"].string_or("")) + " (" +
              Number(set["status"]["replicas"]) + "/" + Number(set["spec"]["replicas"]) +
              " replicas created)";
    }
  }
  return "OldReplicaSets:\t" + (older.empty() ? "<none>" : older) + "\nNewReplicaSet:\t" +
         (newest.empty() ? "<none>" : newest) + "\n";
}

}  // namespace

std::string WorkloadConditionLines(const json::Value& conditions) {
  if (conditions.empty()) return "";
  std::string out = "Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------\n";
  for (const json::Value& c : conditions.as_array())
    out += "  " + TextOr(c["type"], "") + " \t" + TextOr(c["status"], "") + "\t" + TextOr(c["reason"], "") +
           "\n";
  return out;
}

std::string PodCountLine(Session& session, const json::Value& owner, const json::Value& labels) {
  std::int64_t running = 0, waiting = 0, succeeded = 0, failed = 0;
  const std::string ns(owner["metadata"]["namespace"].string_or(""));
  const std::string selector = SelectorText(labels);
  const auto pods = ListObjects(session, kWorkloadPods, ns, selector == "<none>" ? "" : selector);
  if (!pods) return "";
  for (const json::Value& pod : *pods) {
    if (!OwnedBy(pod, owner)) continue;
    const std::string_view phase = pod["status"]["phase"].string_or("");
    ++(phase == "Running"     ? running
       : phase == "Pending"   ? waiting
       : phase == "Succeeded" ? succeeded
                              : failed);
  }
  return "Pods Status:\t" + std::to_string(running) + " Running / " + std::to_string(waiting) +
         " Waiting / " + std::to_string(succeeded) + " Succeeded / " + std::to_string(failed) + " Failed\n";
}

std::string DeploymentText(Session& session, const json::Value& object) {
  const json::Value &spec = object["spec"], &status = object["status"], &metadata = object["metadata"];
  const json::Value& rolling = spec["strategy"]["rollingUpdate"];
  std::string out = NameLines(object) + "CreationTimestamp:\t" + LongTime(metadata["creationTimestamp"]) +
                    "\n" + LabelLines("Labels", metadata["labels"]) +
                    AnnotationLines("Annotations", metadata["annotations"]);
  out += "Selector:\t" + SelectorText(spec["selector"]) + "\nReplicas:\t" + Number(spec["replicas"]) +
         " desired | " + Number(status["updatedReplicas"]) + " updated | " + Number(status["replicas"]) +
         " total | " + Number(status["availableReplicas"]) + " available | " +
         Number(status["unavailableReplicas"]) + " unavailable\nStrategyType:\t" +
         TextOr(spec["strategy"]["type"], "") + "\nMinReadySeconds:\t" + Number(spec["minReadySeconds"]) +
         "\n";
  if (rolling.is_object())
    out += "RollingUpdateStrategy:\t" + TextOr(rolling["maxUnavailable"], "") + " max unavailable, " +
           TextOr(rolling["maxSurge"], "") + " max surge\n";
  return out + PodTemplateText(spec["template"]) + WorkloadConditionLines(status["conditions"]) +
         ReplicaSetLines(session, object);
}

std::string ReplicaSetText(Session& session, const json::Value& object) {
  const json::Value &spec = object["spec"], &metadata = object["metadata"];
  const std::string controller = ControllerText(object);
  return NameLines(object) + "Selector:\t" + SelectorText(spec["selector"]) + "\n" +
         LabelLines("Labels", metadata["labels"]) + AnnotationLines("Annotations", metadata["annotations"]) +
         (controller.empty() ? "" : "Controlled By:\t" + controller + "\n") + "Replicas:\t" +
         Number(object["status"]["replicas"]) + " current / " + Number(spec["replicas"]) + " desired\n" +
         PodCountLine(session, object, spec["selector"]) + PodTemplateText(spec["template"]) +
         WorkloadConditionLines(object["status"]["conditions"]);
}

std::string JobText(Session&, const json::Value& object) {
  const json::Value &spec = object["spec"], &metadata = object["metadata"], &status = object["status"];
  const std::string controller = ControllerText(object);
  std::string out = NameLines(object) + "Selector:\t" + SelectorText(spec["selector"]) + "\n" +
                    LabelLines("Labels", metadata["labels"]) +
                    AnnotationLines("Annotations", metadata["annotations"]);
  if (!controller.empty()) out += "Controlled By:\t" + controller + "\n";
  out += "Parallelism:\t" + TextOr(spec["parallelism"], "<unset>") + "\nCompletions:\t" +
         TextOr(spec["completions"], "<unset>") + "\n";
  if (spec["completionMode"].is_string())
    out += "Completion Mode:\t" + TextOr(spec["completionMode"], "") + "\n";
  if (spec["suspend"].is_bool())
    out += std::string("Suspend:\t") + (spec["suspend"].as_bool() ? "true" : "false") + "\n";
  out += "Backoff Limit:\t" + TextOr(spec["backoffLimit"], "<unset>") + "\n";
  if (status["startTime"].is_string()) out += "Start Time:\t" + LongTime(status["startTime"]) + "\n";
  if (status["completionTime"].is_string())
    out += "Completed At:\t" + LongTime(status["completionTime"]) + "\n";
  const std::int64_t ready = status["ready"].int_or(-1);
  out += "Pods Statuses:\t" + Number(status["active"]) + " Active" +
         (ready >= 0 ? " (" + std::to_string(ready) + " Ready)" : "") + " / " + Number(status["succeeded"]) +
         " Succeeded / " + Number(status["failed"]) + " Failed\n";
  return out + PodTemplateText(spec["template"]);
}

std::string CronJobText(const json::Value& object) {
  const json::Value &spec = object["spec"], &job = spec["jobTemplate"]["spec"], &status = object["status"];
  std::string out = MetadataLines(object) + "Schedule:\t" + TextOr(spec["schedule"], "") +
                    "\nConcurrency Policy:\t" + TextOr(spec["concurrencyPolicy"], "") + "\nSuspend:\t" +
                    (spec["suspend"].bool_or(false) ? "True" : "False") + "\n";
  out += "Time Zone:\t" + TextOr(spec["timeZone"], "<unset>") + "\n";
  out += "Successful Job History Limit:\t" + TextOr(spec["successfulJobsHistoryLimit"], "<unset>") +
         "\nFailed Job History Limit:\t" + TextOr(spec["failedJobsHistoryLimit"], "<unset>") +
         "\nStarting Deadline Seconds:\t" +
         (spec["startingDeadlineSeconds"].is_int() ? TextOr(spec["startingDeadlineSeconds"], "") + "s"
                                                   : std::string("<unset>")) +
         "\nSelector:\t" +
         (job["selector"].is_object() ? SelectorText(job["selector"]) : std::string("<unset>")) +
         "\nParallelism:\t" + TextOr(job["parallelism"], "<unset>") + "\nCompletions:\t" +
         TextOr(job["completions"], "<unset>") + "\n" + PodTemplateText(job["template"]);
  out += "Last Schedule Time:\t" +
         (status["lastScheduleTime"].is_string() ? LongTime(status["lastScheduleTime"])
                                                 : std::string("<unset>")) +
         "\n";
  std::string active;
  if (status["active"].is_array())
    for (const json::Value& reference : status["active"].as_array())
      active += (active.empty() ? "" : ", ") + TextOr(reference["name"], "");
  return out + "Active Jobs:\t" + (active.empty() ? "<none>" : active) + "\n";
}

}  // namespace flyball::cli
