// The rows of pods: what a pod is doing, said in one word.
#include "api/tables/printer.h"
#include "api/tables/table.h"
#include "api/values/time.h"

namespace flyball::api {

namespace {

constexpr std::string_view kSucceededConditions =
    R"([{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}])";
constexpr std::string_view kFailedConditions =
    R"([{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}])";

struct Restarts {
  std::int64_t count = 0;
  Time last;

  void Add(const json::Value& container_status) {
    count += container_status["restartCount"].int_or(0);
    const auto& finished = container_status["lastState"]["terminated"]["finishedAt"];
    if (const auto time = ParseTime(finished.string_or("")); time && last < *time) last = *time;
  }
};

struct PodSummary {
  std::int64_t ready = 0, total = 0;
  std::string reason;
  Restarts restarts;
};

// An init container that keeps running beside the others ("sidecar").
bool IsSidecar(const json::Value& pod, std::string_view container) {
  for (const auto& c : Elements(pod["spec"]["initContainers"]))
    if (c["name"].string_or("") == container) return c["restartPolicy"].string_or("") == "Always";
  return false;
}

std::string TerminatedReason(const json::Value& terminated) {
  if (const auto reason = terminated["reason"].string_or(""); !reason.empty()) return std::string(reason);
  if (const auto signal = terminated["signal"].int_or(0); signal != 0)
    return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(terminated["exitCode"].int_or(0));
}

std::string StartReason(const json::Value& pod) {
  const auto& status = pod["status"];
  const auto* scheduled = FindCondition(status["conditions"], "PodScheduled");
  if (scheduled != nullptr && (*scheduled)["reason"].string_or("") == "SchedulingGated")
    return "SchedulingGated";
  return std::string(TextOr(status["reason"], status["phase"].string_or("")));
}

// True if an init container has not finished: its state is then the pod's.
bool Initializing(const json::Value& pod, PodSummary& summary, Restarts& sidecars) {
  const auto& statuses = Elements(pod["status"]["initContainerStatuses"]);
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const auto& container = statuses[i];
    const bool sidecar = IsSidecar(pod, container["name"].string_or(""));
    summary.restarts.Add(container);
    if (sidecar) sidecars.Add(container);
    const auto& terminated = container["state"]["terminated"];
    const auto waiting = container["state"]["waiting"]["reason"].string_or("");
    if (terminated.is_object() && terminated["exitCode"].int_or(0) == 0) continue;
    if (sidecar && container["started"].bool_or(false)) {
      if (container["ready"].bool_or(false)) ++summary.ready;
      continue;
    }
    if (terminated.is_object())
      summary.reason = "Init:" + TerminatedReason(terminated);
    else if (!waiting.empty() && waiting != "PodInitializing")
      summary.reason = "Init:" + std::string(waiting);
    else
      summary.reason =
          "Init:" + std::to_string(i) + '/' + std::to_string(pod["spec"]["initContainers"].size());
    return true;
  }
  return false;
}

void SummarizeContainers(const json::Value& pod, PodSummary& summary) {
  bool has_running = false;
  const auto& statuses = Elements(pod["status"]["containerStatuses"]);
  for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
    const auto& container = *it;
    summary.restarts.Add(container);
    const auto& state = container["state"];
    const auto waiting = state["waiting"]["reason"].string_or("");
    if (!waiting.empty()) {
      summary.reason = waiting;
    } else if (state["terminated"].is_object()) {
      summary.reason = TerminatedReason(state["terminated"]);
    } else if (container["ready"].bool_or(false) && state["running"].is_object()) {
      has_running = true;
      ++summary.ready;
    }
  }
  if (summary.reason == "Completed" && has_running)
    summary.reason = ConditionIsTrue(pod["status"]["conditions"], "Ready") ? "Running" : "NotReady";
}

PodSummary Summarize(const json::Value& pod) {
  PodSummary summary;
  const auto& status = pod["status"];
  const auto phase = status["phase"].string_or("");
  summary.reason = StartReason(pod);
  summary.total = static_cast<std::int64_t>(pod["spec"]["containers"].size());
  for (const auto& c : Elements(pod["spec"]["initContainers"]))
    if (c["restartPolicy"].string_or("") == "Always") ++summary.total;
  Restarts sidecars;
  if (!Initializing(pod, summary, sidecars) || ConditionIsTrue(status["conditions"], "Initialized")) {
    summary.restarts = sidecars;
    SummarizeContainers(pod, summary);
  }
  if (IsDeleting(pod) && status["reason"].string_or("") == "NodeLost")
    summary.reason = "Unknown";
  else if (IsDeleting(pod) && phase != "Succeeded" && phase != "Failed")
    summary.reason = "Terminating";
  return summary;
}

std::string ReadinessGates(const json::Value& pod) {
  const auto& gates = Elements(pod["spec"]["readinessGates"]);
  if (gates.empty()) return std::string(kNoneText);
  int met = 0;
  for (const auto& gate : gates)
    if (ConditionIsTrue(pod["status"]["conditions"], gate["conditionType"].string_or(""))) ++met;
  return std::to_string(met) + '/' + std::to_string(gates.size());
}

void PrintPod(const json::Value& pod, RowWriter& row) {
  const auto summary = Summarize(pod);
  const auto& spec = pod["spec"];
  const auto& status = pod["status"];
  const auto phase = status["phase"].string_or("");
  if (phase == "Succeeded") row.set_conditions(kSucceededConditions);
  if (phase == "Failed") row.set_conditions(kFailedConditions);
  row.Name(pod);
  row.Text(std::to_string(summary.ready) + '/' + std::to_string(summary.total));
  row.Text(summary.reason);
  std::string restarts = std::to_string(summary.restarts.count);
  if (summary.restarts.count != 0 && !summary.restarts.last.IsZero())
    restarts += " (" + HumanDuration(row.now() - summary.restarts.last.ToTimePoint()) + " ago)";
  row.Text(restarts);
  row.Created(pod);
  const auto& ips = Elements(status["podIPs"]);
  row.Text(ips.empty() ? TextOr(status["podIP"], kNoneText) : TextOr(ips.front()["ip"], kNoneText));
  row.Text(TextOr(spec["nodeName"], kNoneText));
  row.Text(TextOr(status["nominatedNodeName"], kNoneText));
  row.Text(ReadinessGates(pod));
}

void PrintPodTemplate(const json::Value& object, RowWriter& row) {
  row.Name(object);
  ContainerCells(object["template"]["spec"], row);
  row.Text(FormatLabels(object["template"]["metadata"]["labels"]));
}

}  // namespace

std::vector<PrinterEntry> PodPrinters() {
  return {{"", "Pod", PrintPod}, {"", "PodTemplate", PrintPodTemplate}};
}

}  // namespace flyball::api
