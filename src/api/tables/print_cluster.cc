// The rows of nodes, namespaces, events, configuration and other things of the cluster itself.
#include <set>

#include "api/tables/printer.h"
#include "base/values/ascii.h"

namespace flyball::api {

namespace {

std::int64_t Count(const json::Value& container) {
  return static_cast<std::int64_t>(container.size());
}

std::string NodeStatus(const json::Value& node) {
  const auto* ready = FindCondition(node["status"]["conditions"], "Ready");
  std::string out = ready == nullptr                             ? "Unknown"
                    : (*ready)["status"].string_or("") == "True" ? "Ready"
                                                                 : "NotReady";
  if (node["spec"]["unschedulable"].bool_or(false)) out += ",SchedulingDisabled";
  return out;
}

std::string NodeRoles(const json::Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const auto& labels = node["metadata"]["labels"]; labels.is_object()) {
    for (const auto& [key, value] : labels.as_object()) {
      if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) roles.insert(key.substr(kPrefix.size()));
      if (key == "kubernetes.io/role" && !value.string_or("").empty()) roles.emplace(value.as_string());
    }
  }
  std::string out;
  for (const auto& role : roles) out += (out.empty() ? "" : ",") + role;
  return out.empty() ? std::string(kNoneText) : out;
}

std::string_view NodeAddress(const json::Value& node, std::string_view type) {
  for (const auto& address : Elements(node["status"]["addresses"]))
    if (address["type"].string_or("") == type) return address["address"].string_or("");
  return kNoneText;
}

void PrintNode(const json::Value& object, RowWriter& row) {
  const auto& info = object["status"]["nodeInfo"];
  row.Name(object);
  row.Text(NodeStatus(object));
  row.Text(NodeRoles(object));
  row.Created(object);
  row.Text(info["kubeletVersion"].string_or(""));
  row.Text(NodeAddress(object, "InternalIP"));
  row.Text(NodeAddress(object, "ExternalIP"));
  row.Text(TextOr(info["osImage"], kUnknownText));
  const auto architecture = info["architecture"].string_or("");
  row.Text(std::string(TextOr(info["kernelVersion"], kUnknownText)) +
           (architecture.empty() ? "" : " (" + std::string(architecture) + ")"));
  row.Text(TextOr(info["containerRuntimeVersion"], kUnknownText));
}

void PrintNamespace(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["status"]["phase"].string_or(""));
  row.Created(object);
}

void PrintSecret(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["type"].string_or(""));
  row.Int(Count(object["data"]));
  row.Created(object);
}

void PrintConfigMap(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Int(Count(object["data"]) + Count(object["binaryData"]));
  row.Created(object);
}

void PrintServiceAccount(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Created(object);
}

void PrintComponentStatus(const json::Value& object, RowWriter& row) {
  const auto* healthy = FindCondition(object["conditions"], "Healthy");
  static const json::Value absent;
  const auto& condition = healthy != nullptr ? *healthy : absent;
  row.Name(object);
  row.Text(healthy == nullptr                            ? "Unknown"
           : condition["status"].string_or("") == "True" ? "Healthy"
                                                         : "Unhealthy");
  row.Text(condition["message"].string_or(""));
  row.Text(condition["error"].string_or(""));
}

// The core and the events.k8s.io kind say the same under different names.
struct EventNames {
  std::string_view target, first, last, count, source, message, controller;
};
constexpr EventNames kCoreEvent = {"involvedObject", "firstTimestamp", "lastTimestamp",     "count",
                                   "source",         "message",        "reportingComponent"};
constexpr EventNames kEvent = {"regarding",          "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
                               "deprecatedCount",    "deprecatedSource",         "note",
                               "reportingController"};

std::string EventSource(const json::Value& event, const EventNames& names) {
  const auto& source = event[names.source];
  const auto component = TextOr(source["component"], event[names.controller].string_or(""));
  const auto instance = TextOr(source["host"], event["reportingInstance"].string_or(""));
  return std::string(component) + (instance.empty() ? "" : ", " + std::string(instance));
}

void PrintEventAs(const json::Value& event, RowWriter& row, const EventNames& names) {
  const auto& target = event[names.target];
  const auto& first_time = event[names.first].is_string() ? event[names.first] : event["eventTime"];
  const auto first = row.Since(first_time);
  auto last = event[names.last].is_string() ? row.Since(event[names.last]) : first;
  auto count = event[names.count].int_or(0);
  if (const auto& series = event["series"]; series.is_object()) {
    last = row.Since(series["lastObservedTime"]);
    count = series["count"].int_or(0);
  } else if (count == 0) {
    count = 1;
  }
  std::string object = LowerCase(target["kind"].string_or(""));
  if (const auto name = target["name"].string_or(""); !name.empty()) object += '/' + std::string(name);
  row.Text(last);
  row.Text(event["type"].string_or(""));
  row.Text(event["reason"].string_or(""));
  row.Text(object);
  row.Text(target["fieldPath"].string_or(""));
  row.Text(EventSource(event, names));
  row.Text(Trimmed(event[names.message].string_or("")));
  row.Text(first);
  row.Int(count);
  row.Name(event);
}

void PrintCoreEvent(const json::Value& event, RowWriter& row) {
  PrintEventAs(event, row, kCoreEvent);
}

void PrintEvent(const json::Value& event, RowWriter& row) {
  PrintEventAs(event, row, kEvent);
}

void PrintLease(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["spec"]["holderIdentity"].string_or(""));
  row.Created(object);
}

void PrintRuntimeClass(const json::Value& object, RowWriter& row) {
  row.Name(object);
  row.Text(object["handler"].string_or(""));
  row.Created(object);
}

void PrintApiService(const json::Value& object, RowWriter& row) {
  const auto& service = object["spec"]["service"];
  const auto* available = FindCondition(object["status"]["conditions"], "Available");
  std::string status = "Unknown";
  if (available != nullptr) {
    status = (*available)["status"].string_or("");
    const auto reason = (*available)["reason"].string_or("");
    if (status != "True" && !reason.empty()) status += " (" + std::string(reason) + ")";
  }
  row.Name(object);
  row.Text(service.is_object() ? std::string(service["namespace"].string_or("")) + '/' +
                                     std::string(service["name"].string_or(""))
                               : std::string("Local"));
  row.Text(status);
  row.Created(object);
}

}  // namespace

std::vector<PrinterEntry> ClusterPrinters() {
  return {
      {"", "Node", PrintNode},
      {"", "Namespace", PrintNamespace},
      {"", "Secret", PrintSecret},
      {"", "ConfigMap", PrintConfigMap},
      {"", "ServiceAccount", PrintServiceAccount},
      {"", "ComponentStatus", PrintComponentStatus},
      {"", "Event", PrintCoreEvent},
      {"events.k8s.io", "Event", PrintEvent},
      {"coordination.k8s.io", "Lease", PrintLease},
      {"node.k8s.io", "RuntimeClass", PrintRuntimeClass},
      {"apiregistration.k8s.io", "APIService", PrintApiService},
  };
}

}  // namespace flyball::api
