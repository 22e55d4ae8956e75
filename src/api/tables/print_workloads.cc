// The rows of what makes pods: controllers, jobs, autoscalers.
#include <algorithm>

#include "api/tables/printer.h"
#include "api/tables/table.h"
#include "api/values/time.h"

namespace flyball::api {

namespace {

std::string Ratio(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + '/' + std::to_string(whole);
}

void PrintReplicaSet(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(object["spec"]["replicas"].int_or(0));
  row.Int(object["status"]["replicas"].int_or(0));
  row.Int(object["status"]["readyReplicas"].int_or(0));
  row.Created(object);
  ContainerCells(object["spec"]["template"]["spec"], row);
  row.Text(FormatSelector(object["spec"]["selector"]));
}

// "statefulset.apps/web"; "<none>" if nobody controls it.
std::string ControllerName(const json::Value& object) {
  for (const auto& owner : Elements(object["metadata"]["ownerReferences"])) {
    if (!owner["controller"].bool_or(false)) continue;
    std::string name(owner["kind"].string_or(""));
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string_view version = owner["apiVersion"].string_or("");
    if (const auto slash = version.find('/'); slash != std::string_view::npos)
      name += "." + std::string(version.substr(0, slash));
    return name + "/" + std::string(owner["name"].string_or(""));
  }
  return std::string(kNoneText);
}

void PrintControllerRevision(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(ControllerName(object));
  row.Int(object["revision"].int_or(0));
  row.Created(object);
}

void PrintReplicationController(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(object["spec"]["replicas"].int_or(0));
  row.Int(object["status"]["replicas"].int_or(0));
  row.Int(object["status"]["readyReplicas"].int_or(0));
  row.Created(object);
  ContainerCells(object["spec"]["template"]["spec"], row);
  row.Text(FormatLabels(object["spec"]["selector"]));
}

void PrintDeployment(const json::Value& object, RowWriter& row) {
  const auto& status = object["status"];
  row.Name(object);
  row.Text(Ratio(status["readyReplicas"].int_or(0), object["spec"]["replicas"].int_or(0)));
  row.Int(status["updatedReplicas"].int_or(0));
  row.Int(status["availableReplicas"].int_or(0));
  row.Created(object);
  ContainerCells(object["spec"]["template"]["spec"], row);
  const auto selector = FormatSelector(object["spec"]["selector"]);
  row.Text(selector == kNoneText ? std::string_view() : std::string_view(selector));
}

void PrintStatefulSet(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(Ratio(object["status"]["readyReplicas"].int_or(0), object["spec"]["replicas"].int_or(0)));
  row.Created(object);
  ContainerCells(object["spec"]["template"]["spec"], row);
}

void PrintDaemonSet(const json::Value& object, RowWriter& row) {
  const auto& status = object["status"];
  const auto& pod_spec = object["spec"]["template"]["spec"];
  row.Name(object);
  row.Int(status["desiredNumberScheduled"].int_or(0));
  row.Int(status["currentNumberScheduled"].int_or(0));
  row.Int(status["numberReady"].int_or(0));
  row.Int(status["updatedNumberScheduled"].int_or(0));
  row.Int(status["numberAvailable"].int_or(0));
  row.Text(FormatLabels(pod_spec["nodeSelector"]));
  row.Created(object);
  ContainerCells(pod_spec, row);
  row.Text(FormatSelector(object["spec"]["selector"]));
}

std::string JobStatus(const json::Value& job) {
  const auto& conditions = job["status"]["conditions"];
  if (ConditionIsTrue(conditions, "Complete")) return "Complete";
  if (ConditionIsTrue(conditions, "Failed")) return "Failed";
  if (IsDeleting(job)) return "Terminating";
  for (const char* state : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (ConditionIsTrue(conditions, state)) return state;
  return "Running";
}

std::string Completions(const json::Value& job) {
  const auto& spec = job["spec"];
  const auto succeeded = job["status"]["succeeded"].int_or(0);
  if (spec["completions"].is_int()) return Ratio(succeeded, spec["completions"].as_int());
  const auto parallelism = spec["parallelism"].int_or(0);
  if (parallelism > 1) return Ratio(succeeded, 1) + " of " + std::to_string(parallelism);
  return Ratio(succeeded, 1);
}

std::string JobDuration(const json::Value& job, const RowWriter& row) {
  const auto start = ParseTime(job["status"]["startTime"].string_or(""));
  if (!start) return "";
  const auto end = ParseTime(job["status"]["completionTime"].string_or(""));
  return HumanDuration((end ? end->ToTimePoint() : row.now()) - start->ToTimePoint());
}

void PrintJob(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(JobStatus(object));
  row.Text(Completions(object));
  row.Text(JobDuration(object, row));
  row.Created(object);
  ContainerCells(object["spec"]["template"]["spec"], row);
  row.Text(FormatSelector(object["spec"]["selector"]));
}

void PrintCronJob(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& suspend = spec["suspend"];
  const auto& last = object["status"]["lastScheduleTime"];
  const auto& job_spec = spec["jobTemplate"]["spec"];
  row.Name(object);
  row.Text(spec["schedule"].string_or(""));
  row.Text(spec["timeZone"].string_or(kNoneText));
  row.Text(!suspend.is_bool() ? kUnsetText : suspend.as_bool() ? "True" : "False");
  row.Int(static_cast<std::int64_t>(object["status"]["active"].size()));
  row.Text(last.is_null() ? std::string(kNoneText) : row.Since(last));
  row.Created(object);
  ContainerCells(job_spec["template"]["spec"], row);
  row.Text(FormatSelector(job_spec["selector"]));
}

std::string Percent(const json::Value& n, std::string_view fallback) {
  return n.is_int() ? std::to_string(n.as_int()) + '%' : std::string(fallback);
}

// Pods, Object and External metrics: "current/target", "(avg)" when the target is an average.
std::string ValueMetric(const json::Value& target, const json::Value& current, bool mark_average) {
  const bool average = !target["averageValue"].is_null();
  const auto* member = average ? "averageValue" : "value";
  std::string out(TextOr(current[member], kUnknownText));
  out += '/' + QuantityCell(target[member]);
  return average && mark_average ? out + " (avg)" : out;
}

std::string ResourceMetric(const json::Value& source, const json::Value& current) {
  const auto& target = source["target"];
  std::string out = std::string(source["name"].string_or("")) + ": ";
  if (!target["averageValue"].is_null()) return out + ValueMetric(target, current, false);
  return out + Percent(current["averageUtilization"], kUnknownText) + '/' +
         Percent(target["averageUtilization"], "<auto>");
}

std::string OneMetric(const json::Value& spec, const json::Value& status) {
  const auto type = spec["type"].string_or("");
  if (type == "External") return ValueMetric(spec["external"]["target"], status["external"]["current"], true);
  if (type == "Object") return ValueMetric(spec["object"]["target"], status["object"]["current"], true);
  if (type == "Pods") return ValueMetric(spec["pods"]["target"], status["pods"]["current"], false);
  if (type == "Resource") return ResourceMetric(spec["resource"], status["resource"]["current"]);
  if (type == "ContainerResource")
    return ResourceMetric(spec["containerResource"], status["containerResource"]["current"]);
  return "<unknown type>";
}

std::string Metrics(const json::Value& hpa) {
  constexpr std::size_t kShownMetrics = 2;
  const auto& specs = Elements(hpa["spec"]["metrics"]);
  const auto& statuses = Elements(hpa["status"]["currentMetrics"]);
  static const json::Value absent;
  if (const auto& cpu = hpa["spec"]["targetCPUUtilizationPercentage"]; cpu.is_int())  // autoscaling/v1
    return "cpu: " + Percent(hpa["status"]["currentCPUUtilizationPercentage"], kUnknownText) + '/' +
           Percent(cpu, "<auto>");
  if (specs.empty()) return std::string(kNoneText);
  std::string out;
  for (std::size_t i = 0; i < std::min(specs.size(), kShownMetrics); ++i)
    out += (i > 0 ? ", " : "") + OneMetric(specs[i], i < statuses.size() ? statuses[i] : absent);
  if (specs.size() > kShownMetrics) out += " + " + std::to_string(specs.size() - kShownMetrics) + " more...";
  return out;
}

void PrintAutoscaler(const json::Value& object, RowWriter& row) {
  const auto& spec = object["spec"];
  const auto& target = spec["scaleTargetRef"];
  row.Name(object);
  row.Text(std::string(target["kind"].string_or("")) + '/' + std::string(target["name"].string_or("")));
  row.Text(Metrics(object));
  row.Text(spec["minReplicas"].is_int() ? std::to_string(spec["minReplicas"].as_int())
                                        : std::string(kUnsetText));
  row.Int(spec["maxReplicas"].int_or(0));
  row.Int(object["status"]["currentReplicas"].int_or(0));
  row.Created(object);
}

void PrintScale(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(object["spec"]["replicas"].int_or(0));
  row.Int(object["status"]["replicas"].int_or(0));
  row.Created(object);
}

}  // namespace

std::vector<PrinterEntry> WorkloadPrinters() {
  return {
      {"", "ReplicationController", PrintReplicationController},
      {"apps", "ControllerRevision", PrintControllerRevision},
      {"apps", "ReplicaSet", PrintReplicaSet},
      {"apps", "Deployment", PrintDeployment},
      {"apps", "StatefulSet", PrintStatefulSet},
      {"apps", "DaemonSet", PrintDaemonSet},
      {"batch", "Job", PrintJob},
      {"batch", "CronJob", PrintCronJob},
      {"autoscaling", "HorizontalPodAutoscaler", PrintAutoscaler},
      {"autoscaling", "Scale", PrintScale},
  };
}

}  // namespace flyball::api
