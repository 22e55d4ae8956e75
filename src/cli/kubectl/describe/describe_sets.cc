#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_pod.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"

namespace flyball::cli {
namespace {

std::string CountOf(const json::Value& value) {
  return std::to_string(value.int_or(0));
}

json::Value AsSelector(const json::Value& labels) {
  return json::Object{{"matchLabels", labels}};
}

// Labels and annotations, as those of a whole object but indented.
std::string IndentedPairs(const char* title, const json::Value& pairs) {
  std::string out = "  " + std::string(title) + ":\t", separator;
  if (!pairs.is_object() || pairs.empty()) return out + "<none>\n";
  json::Object sorted = pairs.as_object();
  sorted.SortKeys();
  for (const auto& [key, value] : sorted) {
    out += separator + key + "=" + std::string(value.string_or("")) + "\n";
    separator = "  \t";
  }
  return out;
}

std::string ClaimTemplateLines(const json::Value& templates) {
  if (templates.empty()) return "Volume Claims:\t<none>\n";
  std::string out = "Volume Claims:\n";
  for (const json::Value& claim : Elements(templates)) {
    const json::Value& spec = claim["spec"];
    std::string modes;
    for (const json::Value& mode : Elements(spec["accessModes"]))
      modes += (modes.empty() ? "" : " ") + std::string(mode.string_or(""));
    out += "  Name:\t" + TextOr(claim["metadata"]["name"], "") + "\n  StorageClass:\t" +
           TextOr(spec["storageClassName"], "") + "\n" +
           IndentedPairs("Labels", claim["metadata"]["labels"]) +
           IndentedPairs("Annotations", claim["metadata"]["annotations"]) + "  Capacity:\t" +
           TextOr(spec["resources"]["requests"]["storage"], "<default>") + "\n  Access Modes:\t[" + modes +
           "]\n";
  }
  return out;
}

}  // namespace

std::string ReplicationControllerText(Session& session, const json::Value& object) {
  const json::Value &spec = object["spec"], &metadata = object["metadata"];
  const json::Value selector = AsSelector(spec["selector"]);
  return NameLines(object) + "Selector:\t" + SelectorText(selector) + "\n" +
         LabelLines("Labels", metadata["labels"]) + AnnotationLines("Annotations", metadata["annotations"]) +
         "Replicas:\t" + CountOf(object["status"]["replicas"]) + " current / " + CountOf(spec["replicas"]) +
         " desired\n" + PodCountLine(session, object, selector) + PodTemplateText(spec["template"]) +
         WorkloadConditionLines(object["status"]["conditions"]);
}

std::string DaemonSetText(Session& session, const json::Value& object) {
  const json::Value &spec = object["spec"], &metadata = object["metadata"], &status = object["status"];
  return NameLines(object) + "Selector:\t" + SelectorText(spec["selector"]) + "\nNode-Selector:\t" +
         SelectorText(AsSelector(spec["template"]["spec"]["nodeSelector"])) + "\n" +
         LabelLines("Labels", metadata["labels"]) + AnnotationLines("Annotations", metadata["annotations"]) +
         "Desired Number of Nodes Scheduled: " + CountOf(status["desiredNumberScheduled"]) +
         "\nCurrent Number of Nodes Scheduled: " + CountOf(status["currentNumberScheduled"]) +
         "\nNumber of Nodes Scheduled with Up-to-date Pods: " + CountOf(status["updatedNumberScheduled"]) +
         "\nNumber of Nodes Scheduled with Available Pods: " + CountOf(status["numberAvailable"]) +
         "\nNumber of Nodes Misscheduled: " + CountOf(status["numberMisscheduled"]) + "\n" +
         PodCountLine(session, object, spec["selector"]) + PodTemplateText(spec["template"]);
}

std::string StatefulSetText(Session& session, const json::Value& object) {
  const json::Value &spec = object["spec"], &metadata = object["metadata"], &update = spec["updateStrategy"];
  const json::Value& retention = spec["persistentVolumeClaimRetentionPolicy"];
  std::string out = NameLines(object) + "CreationTimestamp:\t" + LongTime(metadata["creationTimestamp"]) +
                    "\nSelector:\t" + SelectorText(spec["selector"]) + "\n" +
                    LabelLines("Labels", metadata["labels"]) +
                    AnnotationLines("Annotations", metadata["annotations"]);
  if (const std::string service = TextOr(spec["serviceName"], ""); !service.empty())
    out += "Service Name:\t" + service + "\n";
  if (const std::string policy = TextOr(spec["podManagementPolicy"], ""); !policy.empty())
    out += "Pod Management Policy:\t" + policy + "\n";
  out += "Replicas:\t" + CountOf(spec["replicas"]) + " desired | " + CountOf(object["status"]["replicas"]) +
         " total\nUpdate Strategy:\t" + TextOr(update["type"], "") + "\n";
  if (const json::Value& rolling = update["rollingUpdate"]; rolling["partition"].is_int()) {
    out += "  Partition:\t" + CountOf(rolling["partition"]) + "\n";
    if (!rolling["maxUnavailable"].is_null())
      out += "  MaxUnavailable:\t" + TextOr(rolling["maxUnavailable"], "") + "\n";
  }
  if (retention.is_object())
    out += "Persistent Volume Claim Retention Policy:\n  WhenDeleted:\t" +
           TextOr(retention["whenDeleted"], "") + "\n  WhenScaled:\t" + TextOr(retention["whenScaled"], "") +
           "\n";
  return out + PodCountLine(session, object, spec["selector"]) + PodTemplateText(spec["template"]) +
         ClaimTemplateLines(spec["volumeClaimTemplates"]);
}

}  // namespace flyball::cli
