#include "cli/kubectl/session/pod_choice.h"

#include <algorithm>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kChosenPods{"", "v1", "Pod", "pods", true};

// The labels that the object's pods have; Services and ReplicationControllers name them directly.
std::string PodLabelsOf(const json::Value& object) {
  const json::Value& selector = object["spec"]["selector"];
  const json::Value& labels = selector["matchLabels"].is_object() ? selector["matchLabels"] : selector;
  std::string text;
  if (labels.is_object())
    for (const auto& [key, value] : labels.as_object())
      if (value.is_string()) text += (text.empty() ? "" : ",") + key + "=" + std::string(value.as_string());
  return text;
}

}  // namespace

Result<std::vector<json::Value>> PodsBehind(Session& session, const std::string& argument) {
  if (argument.find('/') == std::string::npos) {
    FLYBALL_ASSIGN(json::Value pod, session.Get(kChosenPods, session.ns(), argument));
    return std::vector<json::Value>{std::move(pod)};
  }
  FLYBALL_ASSIGN(const auto refs, ResolveObjects(session, {argument}, {}));
  FLYBALL_ASSIGN(json::Value object, session.Get(refs[0].kind, refs[0].ns, refs[0].name));
  if (refs[0].kind == kChosenPods) return std::vector<json::Value>{std::move(object)};
  const std::string labels = PodLabelsOf(object);
  if (labels.empty())
    return Unexpected(LocalError("cannot attach to " + refs[0].kind.kind + ": it selects no pods"));
  FLYBALL_ASSIGN(auto pods, ListObjects(session, kChosenPods, refs[0].ns, labels));
  if (pods.empty()) return Unexpected(LocalError("timed out waiting for the condition"));
  std::stable_sort(pods.begin(), pods.end(), [](const json::Value& a, const json::Value& b) {
    return a["status"]["phase"].string_or("") == "Running" && b["status"]["phase"].string_or("") != "Running";
  });
  return pods;
}

bool HasContainer(const json::Value& pod, std::string_view name) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
    for (const json::Value& container : Elements(pod["spec"][list]))
      if (container["name"].string_or("") == name) return true;
  return false;
}

std::string ContainerNames(const json::Value& pod) {
  std::string names;
  for (const auto& [list, note] : {std::pair("containers", ""), std::pair("initContainers", " (init)"),
                                   std::pair("ephemeralContainers", " (ephem)")})
    for (const json::Value& container : Elements(pod["spec"][list]))
      names += (names.empty() ? "" : ", ") + std::string(container["name"].string_or("")) + note;
  return names;
}

}  // namespace flyball::cli
