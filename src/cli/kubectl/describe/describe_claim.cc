#include <string>

#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kClaimants{"", "v1", "Pod", "pods", true};

// "RWO,RWX".
std::string AccessModes(const json::Value& modes) {
  std::string out;
  for (const auto& [mode, word] : {std::pair("ReadWriteOnce", "RWO"), std::pair("ReadOnlyMany", "ROX"),
                                   std::pair("ReadWriteMany", "RWX"), std::pair("ReadWriteOncePod", "RWOP")})
    for (const json::Value& there : Elements(modes))
      if (there.string_or("") == mode) out += (out.empty() ? "" : ",") + std::string(word);
  return out;
}

// Pods with a volume of the claim, by its name or as an ephemeral one.
std::string UsedByLines(Session& session, const json::Value& claim) {
  const std::string name(claim["metadata"]["name"].string_or(""));
  const auto pods = ListObjects(session, kClaimants, claim["metadata"]["namespace"].string_or(""));
  std::string out;
  for (const json::Value& pod : pods ? *pods : std::vector<json::Value>()) {
    const std::string pod_name(pod["metadata"]["name"].string_or(""));
    for (const json::Value& volume : Elements(pod["spec"]["volumes"])) {
      const bool ephemeral = volume["ephemeral"].is_object() &&
                             pod_name + "-" + std::string(volume["name"].string_or("")) == name;
      if (!ephemeral && volume["persistentVolumeClaim"]["claimName"].string_or("") != name) continue;
      out += (out.empty() ? "Used By:\t" : "\t") + pod_name + "\n";
      break;
    }
  }
  return out.empty() ? "Used By:\t<none>\n" : out;
}

std::string SourceLines(const json::Value& source) {
  if (!source.is_object()) return {};
  std::string out = "DataSource:\n";
  if (source["apiGroup"].is_string()) out += "  APIGroup:\t" + TextOr(source["apiGroup"], "") + "\n";
  return out + "  Kind:\t" + TextOr(source["kind"], "") + "\n  Name:\t" + TextOr(source["name"], "") + "\n";
}

std::string ClaimConditionLines(const json::Value& conditions) {
  if (conditions.empty()) return {};
  std::string out =
      "Conditions:\n  Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage\n"
      "  ----\t------\t-----------------\t------------------\t------\t-------\n";
  for (const json::Value& c : Elements(conditions))
    out += "  " + TextOr(c["type"], "") + " \t" + TextOr(c["status"], "") + " \t" +
           LongTime(c["lastProbeTime"]) + " \t" + LongTime(c["lastTransitionTime"]) + " \t" +
           TextOr(c["reason"], "") + " \t" + TextOr(c["message"], "") + "\n";
  return out;
}

}  // namespace

std::string ClaimText(Session& session, const json::Value& claim) {
  const json::Value &spec = claim["spec"], &status = claim["status"], &metadata = claim["metadata"];
  const bool bound = !spec["volumeName"].string_or("").empty();
  const json::Value& old_class = metadata["annotations"]["volume.beta.kubernetes.io/storage-class"];
  std::string out = NameLines(claim) + "StorageClass:\t" +
                    TextOr(old_class.is_string() ? old_class : spec["storageClassName"], "") + "\n";
  if (metadata["deletionTimestamp"].is_string())
    out += "Status:\tTerminating (lasts " + AgeSince(session, metadata["deletionTimestamp"]) + ")\n";
  else
    out += "Status:\t" + TextOr(status["phase"], "") + "\n";
  out += "Volume:\t" + TextOr(spec["volumeName"], "") + "\n" + LabelLines("Labels", metadata["labels"]) +
         AnnotationLines("Annotations", metadata["annotations"]) + "Finalizers:\t[" +
         Joined(metadata["finalizers"], " ") + "]\nCapacity:\t" +
         (bound ? TextOr(status["capacity"]["storage"], "0") : "") + "\nAccess Modes:\t" +
         (bound ? AccessModes(status["accessModes"]) : "") + "\n";
  if (spec["volumeMode"].is_string()) out += "VolumeMode:\t" + TextOr(spec["volumeMode"], "") + "\n";
  return out + SourceLines(spec["dataSource"]) + UsedByLines(session, claim) +
         ClaimConditionLines(status["conditions"]);
}

}  // namespace flyball::cli
