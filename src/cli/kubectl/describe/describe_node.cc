#include <map>

#include "api/values/quantity.h"
#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kNodePods{"", "v1", "Pod", "pods", true};
const KindRef kLeases{"coordination.k8s.io", "v1", "Lease", "leases", true};

std::string AmountLines(const char* title, const json::Value& amounts) {
  std::string out = std::string(title) + ":\n";
  if (!amounts.is_object()) return out;
  json::Object sorted = amounts.as_object();
  sorted.SortKeys();
  for (const auto& [name, quantity] : sorted) out += "  " + name + ":\t" + TextOr(quantity, "") + "\n";
  return out;
}

// From node-role.kubernetes.io/<role> labels.
std::string RolesOf(const json::Value& object) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::string roles;
  if (object["metadata"]["labels"].is_object())
    for (const auto& [key, value] : object["metadata"]["labels"].as_object()) {
      if (key == "kubernetes.io/role" && !value.string_or("").empty())
        roles += (roles.empty() ? "" : ",") + std::string(value.string_or(""));
      else if (key.size() > kPrefix.size() && key.starts_with(kPrefix))
        roles += (roles.empty() ? "" : ",") + key.substr(kPrefix.size());
    }
  return roles.empty() ? "<none>" : roles;
}

std::string TaintLines(const json::Value& taints) {
  std::string out = "Taints:\t";
  if (taints.empty()) return out + "<none>\n";
  bool first = true;
  for (const json::Value& taint : Elements(taints)) {
    out += (std::exchange(first, false) ? "" : "\t") + TextOr(taint["key"], "") +
           (taint["value"].string_or("").empty() ? "" : "=" + TextOr(taint["value"], "")) + ":" +
           TextOr(taint["effect"], "") + "\n";
  }
  return out;
}

std::string LeaseLines(Session& session, const json::Value& node) {
  const auto lease = session.Get(kLeases, "kube-node-lease", node["metadata"]["name"].string_or(""));
  if (!lease) return "Lease:\tFailed to get lease: " + lease.error().message() + "\n";
  const json::Value& spec = (*lease)["spec"];
  const auto time = [&](const char* field) {
    return spec[field].is_string() ? LongTime(spec[field]) : std::string("<unset>");
  };
  return "Lease:\n  HolderIdentity:\t" + TextOr(spec["holderIdentity"], "<unset>") + "\n  AcquireTime:\t" +
         time("acquireTime") + "\n  RenewTime:\t" + time("renewTime") + "\n";
}

std::string ConditionLines(const json::Value& conditions) {
  if (conditions.empty()) return {};
  std::string out =
      "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n"
      "  ----\t------\t-----------------\t------------------\t------\t-------\n";
  for (const json::Value& c : Elements(conditions))
    out += "  " + TextOr(c["type"], "") + " \t" + TextOr(c["status"], "") + " \t" +
           LongTime(c["lastHeartbeatTime"]) + " \t" + LongTime(c["lastTransitionTime"]) + " \t" +
           TextOr(c["reason"], "") + " \t" + TextOr(c["message"], "") + "\n";
  return out;
}

std::string SystemLines(const json::Value& info) {
  constexpr std::pair<const char*, const char*> kLines[] = {
      {"Machine ID", "machineID"},
      {"System UUID", "systemUUID"},
      {"Boot ID", "bootID"},
      {"Kernel Version", "kernelVersion"},
      {"OS Image", "osImage"},
      {"Operating System", "operatingSystem"},
      {"Architecture", "architecture"},
      {"Container Runtime Version", "containerRuntimeVersion"},
      {"Kubelet Version", "kubeletVersion"}};
  std::string out = "System Info:\n";
  for (const auto& [title, field] : kLines)
    out += std::string("  ") + title + ":\t" + TextOr(info[field], "") + "\n";
  return out;
}

using Amounts = std::map<std::string, api::Quantity>;

// What the containers ask for together (init containers only as far as they ask for more).
Amounts PodAmounts(const json::Value& pod, const char* what) {
  Amounts sum;
  const auto each = [&](const json::Value& container, const auto& use) {
    const json::Value& amounts = container["resources"][what];
    if (!amounts.is_object()) return;
    for (const auto& [name, text] : amounts.as_object())
      if (const auto amount = api::Quantity::Parse(TextOr(text, "0"))) use(name, *amount);
  };
  for (const json::Value& container : Elements(pod["spec"]["containers"]))
    each(container, [&](const std::string& name, const api::Quantity& amount) { sum[name] += amount; });
  for (const json::Value& container : Elements(pod["spec"]["initContainers"]))
    each(container, [&](const std::string& name, const api::Quantity& amount) {
      if (container["restartPolicy"].string_or("") == "Always")
        sum[name] += amount;
      else if (sum[name] < amount)
        sum[name] = amount;
    });
  return sum;
}

std::string Share(const api::Quantity& amount, const json::Value& of) {
  const auto all = api::Quantity::Parse(TextOr(of, "0"));
  const double whole = all ? all->ToDouble() : 0;
  const auto percent = whole == 0 ? 0 : static_cast<std::int64_t>(amount.ToDouble() * 100 / whole);
  return amount.ToString() + " (" + std::to_string(percent) + "%)";
}

std::string PodLines(const Session& session, const std::vector<json::Value>& pods,
                     const json::Value& allocatable, Amounts& requests, Amounts& limits) {
  std::string out =
      "Non-terminated Pods:\t(" + std::to_string(pods.size()) +
      " in total)\n  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory "
      "Limits\tAge\n  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n";
  for (const json::Value& pod : pods) {
    Amounts own_requests = PodAmounts(pod, "requests"), own_limits = PodAmounts(pod, "limits");
    out += "  " + TextOr(pod["metadata"]["namespace"], "") + "\t" + TextOr(pod["metadata"]["name"], "") +
           "\t\t" + Share(own_requests["cpu"], allocatable["cpu"]) + "\t" +
           Share(own_limits["cpu"], allocatable["cpu"]) + "\t" +
           Share(own_requests["memory"], allocatable["memory"]) + "\t" +
           Share(own_limits["memory"], allocatable["memory"]) + "\t" +
           AgeSince(session, pod["metadata"]["creationTimestamp"]) + "\n";
    for (const auto& [name, amount] : own_requests) requests[name] += amount;
    for (const auto& [name, amount] : own_limits) limits[name] += amount;
  }
  return out;
}

std::string AllocatedLines(const json::Value& allocatable, Amounts& requests, Amounts& limits) {
  std::string out =
      "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n"
      "  Resource\tRequests\tLimits\n  --------\t--------\t------\n";
  const auto line = [&](const std::string& name, bool share) {
    const auto text = [&](Amounts& amounts) {
      return share ? Share(amounts[name], allocatable[name]) : amounts[name].ToString();
    };
    out += "  " + name + "\t" + text(requests) + "\t" + text(limits) + "\n";
  };
  for (const char* name : {"cpu", "memory", "ephemeral-storage"}) line(name, true);
  if (!allocatable.is_object()) return out;
  json::Object sorted = allocatable.as_object();
  sorted.SortKeys();
  for (const auto& [name, amount] : sorted)
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage" && name != "pods") line(name, false);
  return out;
}

}  // namespace

std::string NodeText(Session& session, const json::Value& object) {
  const json::Value &status = object["status"], &spec = object["spec"];
  std::string out = NameLines(object) + "Roles:\t" + RolesOf(object) + "\n" +
                    LabelLines("Labels", object["metadata"]["labels"]) +
                    AnnotationLines("Annotations", object["metadata"]["annotations"]) +
                    "CreationTimestamp:\t" + LongTime(object["metadata"]["creationTimestamp"]) + "\n" +
                    TaintLines(spec["taints"]);
  out += std::string("Unschedulable:\t") + (spec["unschedulable"].bool_or(false) ? "true" : "false") + "\n";
  out += LeaseLines(session, object) + ConditionLines(status["conditions"]) + "Addresses:\n";
  for (const json::Value& address : Elements(status["addresses"]))
    out += "  " + TextOr(address["type"], "") + ":\t" + TextOr(address["address"], "") + "\n";
  out += AmountLines("Capacity", status["capacity"]) + AmountLines("Allocatable", status["allocatable"]) +
         SystemLines(status["nodeInfo"]);
  if (!TextOr(spec["podCIDR"], "").empty())
    out += "PodCIDR:\t" + TextOr(spec["podCIDR"], "") + "\nPodCIDRs:\t" + Joined(spec["podCIDRs"]) + "\n";
  if (!TextOr(spec["providerID"], "").empty()) out += "ProviderID:\t" + TextOr(spec["providerID"], "") + "\n";
  const auto pods = ListObjects(session, kNodePods, "", "",
                                "spec.nodeName=" + TextOr(object["metadata"]["name"], "") +
                                    ",status.phase!=Succeeded,status.phase!=Failed");
  if (!pods) return out;
  const json::Value& allocatable =
      status["allocatable"].is_object() ? status["allocatable"] : status["capacity"];
  Amounts requests, limits;
  out += PodLines(session, *pods, allocatable, requests, limits);
  return out + AllocatedLines(allocatable, requests, limits);
}

}  // namespace flyball::cli
