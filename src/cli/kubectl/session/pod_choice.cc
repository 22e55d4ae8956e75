#include "cli/kubectl/session/pod_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/values/duration.h"
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

// Kinds that select pods.
bool SelectsPods(const KindRef& kind) {
  static constexpr std::array<std::string_view, 7> kKinds{
      "replicationcontrollers", "services",        "deployments.apps", "replicasets.apps",
      "statefulsets.apps",      "daemonsets.apps", "jobs.batch"};
  return std::find(kKinds.begin(), kKinds.end(), kind.GroupResource()) != kKinds.end();
}

// The pods with the labels, asked for again until there is one or the time has passed.
Result<std::vector<json::Value>> WaitForPods(Session& session, const std::string& ns,
                                             const std::string& labels, Duration wait) {
  constexpr Duration kInterval = std::chrono::milliseconds(500);
  const SteadyTime end = session.clock().Steady() + wait;
  for (;;) {
    FLYBALL_ASSIGN(auto pods, ListObjects(session, kChosenPods, ns, labels));
    if (!pods.empty()) return pods;
    if (session.clock().Steady() >= end) return Unexpected(LocalError("timed out waiting for the condition"));
    session.Pause(kInterval);
  }
}

}  // namespace

Result<std::vector<json::Value>> PodsBehind(Session& session, const std::string& argument, Duration wait) {
  if (argument.find('/') == std::string::npos) {
    FLYBALL_ASSIGN(json::Value pod, session.Get(kChosenPods, session.ns(), argument));
    return std::vector<json::Value>{std::move(pod)};
  }
  FLYBALL_ASSIGN(const auto refs, ResolveObjects(session, {argument}, {}));
  FLYBALL_ASSIGN(json::Value object, session.Get(refs[0].kind, refs[0].ns, refs[0].name));
  if (refs[0].kind == kChosenPods) return std::vector<json::Value>{std::move(object)};
  const std::string type = "*" + refs[0].kind.version + "." + refs[0].kind.kind;
  if (!SelectsPods(refs[0].kind))
    return Unexpected(LocalError("cannot attach to " + type + ": selector for " + type + " not implemented"));
  const std::string labels = PodLabelsOf(object);
  if (labels.empty())
    return Unexpected(LocalError("cannot attach to " + type + ": invalid service \"" + refs[0].name +
                                 "\": Service is defined without a selector"));
  FLYBALL_ASSIGN(auto pods, WaitForPods(session, refs[0].ns, labels, wait));
  std::stable_sort(pods.begin(), pods.end(), [](const json::Value& a, const json::Value& b) {
    return a["status"]["phase"].string_or("") == "Running" && b["status"]["phase"].string_or("") != "Running";
  });
  return pods;
}

void AddPodRunningTimeout(const Command& command, std::string* timeout, const std::string& otherwise) {
  *timeout = otherwise;
  command.Option("--pod-running-timeout", timeout, "How long to wait for a pod");
}

Result<Duration> PodRunningTimeout(const std::string& timeout) {
  FLYBALL_ASSIGN(const Duration wait, api::ParseDuration(timeout));
  if (wait > Duration::zero()) return wait;
  return Unexpected(LocalError("--pod-running-timeout must be higher than zero"));
}

bool HasContainer(const json::Value& pod, std::string_view name) {
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
    for (const json::Value& container : Elements(pod["spec"][list]))
      if (container["name"].string_or("") == name) return true;
  return false;
}

std::string ContainerNames(const json::Value& pod) {
  std::string names;
  for (const auto& [list, note] : {std::pair("containers", ""), std::pair("ephemeralContainers", " (ephem)"),
                                   std::pair("initContainers", " (init)")})
    for (const json::Value& container : Elements(pod["spec"][list]))
      names += (names.empty() ? "" : ", ") + std::string(container["name"].string_or("")) + note;
  return names;
}

}  // namespace flyball::cli
