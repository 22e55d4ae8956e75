#include "api/kinds/pod/pod_defaults.h"

#include <map>
#include <string>
#include <string_view>

#include "api/rules/access.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

// ":latest" and no tag at all are pulled always; a digest or another tag only if absent.
std::string_view PullPolicyFor(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const std::size_t slash = image.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const std::size_t colon = name.find(':');
  const bool latest = colon == std::string_view::npos || name.substr(colon + 1) == "latest";
  return latest ? "Always" : "IfNotPresent";
}

template <typename Visit>
void ForEachMutableContainer(Value& spec, Visit visit) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    Value* containers = spec.Find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Value& container : containers->as_array()) {
      if (container.is_object()) visit(container);
    }
  }
}

void CopyMissing(const Value& from, Value& resources, std::string_view into) {
  for (const auto& [name, quantity] : Entries(from)) {
    if (Get(resources, into).Find(name) == nullptr) resources[into][name] = quantity;
  }
}

void SetRequestsFromLimits(Value& container) {
  Value* resources = container.Find("resources");
  if (resources == nullptr || Get(*resources, "limits").size() == 0) return;
  const Value limits = Get(*resources, "limits");
  CopyMissing(limits, *resources, "requests");
}

void SetHostPorts(Value& container) {
  Value* ports = container.Find("ports");
  if (ports == nullptr || !ports->is_array()) return;
  for (Value& port : ports->as_array()) {
    if (Number(port, "hostPort") == 0) port["hostPort"] = Number(port, "containerPort");
  }
}

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

// Requests of the pod as a whole: what its containers ask for together, else the pod's limit.
void SetPodLevelRequests(Value& spec) {
  Value* resources = spec.Find("resources");
  if (resources == nullptr || !resources->is_object()) return;
  std::map<std::string, Quantity> totals;
  for (const Value& container : Items(Get(spec, "containers")))
    for (const auto& [name, quantity] : Entries(container["resources"]["requests"]))
      if (IsPodLevelResource(name) && !name.starts_with("hugepages-")) totals[name] += QuantityOf(quantity);
  for (const auto& [name, total] : totals)
    if (Get(*resources, "requests").Find(name) == nullptr) (*resources)["requests"][name] = total.ToString();
  const Value limits = Get(*resources, "limits");
  for (const auto& [name, quantity] : Entries(limits))
    if (IsPodLevelResource(name) && Get(*resources, "requests").Find(name) == nullptr)
      (*resources)["requests"][name] = quantity;
}

// An image volume is pulled like a container's image.
void SetImageVolumeDefaults(Value& spec) {
  Value* volumes = spec.Find("volumes");
  if (volumes == nullptr || !volumes->is_array()) return;
  for (Value& volume : volumes->as_array()) {
    // One that says nothing but its name is an empty directory.
    if (volume.is_object() && volume.size() == 1 && volume.Find("name") != nullptr)
      volume["emptyDir"] = json::Object{};
    Value* image = volume.Find("image");
    if (image == nullptr || !image->is_object()) continue;
    SetIfZero(*image, "pullPolicy", PullPolicyFor(Text(*image, "reference")));
  }
}

}  // namespace

void SetPodSpecDefaults(Value& spec) {
  if (!spec.is_object()) return;
  ForEachMutableContainer(spec, [](Value& container) {
    SetIfZero(container, "imagePullPolicy", PullPolicyFor(Text(container, "image")));
  });
  // serviceAccount is the old name of serviceAccountName; either sets both.
  if (!Text(spec, "serviceAccountName").empty()) {
    spec["serviceAccount"] = std::string(Text(spec, "serviceAccountName"));
  } else if (!Text(spec, "serviceAccount").empty()) {
    spec["serviceAccountName"] = std::string(Text(spec, "serviceAccount"));
  }
  SetImageVolumeDefaults(spec);
}

namespace {

// podIP is the first of podIPs; where they differ podIP is right, as older nodes write only that (upstream:
// the conversion of PodStatus).
void SetPodIps(Value& status) {
  const std::string ip(Text(status, "podIP"));
  Value* ips = status.Find("podIPs");
  const bool listed = ips != nullptr && ips->size() > 0;
  if (!ip.empty() && (!listed || Text(ips->as_array()[0], "ip") != ip)) {
    status["podIPs"] = json::Array{json::Object{{"ip", ip}}};
  } else if (ip.empty() && listed) {
    status["podIP"] = std::string(Text(ips->as_array()[0], "ip"));
  }
}

}  // namespace

void SetPodDefaults(Value& pod) {
  if (Value* status = pod.Find("status"); status != nullptr && status->is_object()) SetPodIps(*status);
  Value* spec = pod.Find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  SetPodSpecDefaults(*spec);
  const bool host_network = Get(*spec, "hostNetwork").bool_or(false);
  for (const char* list : {"containers", "initContainers"}) {
    Value* containers = spec->Find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Value& container : containers->as_array()) {
      SetRequestsFromLimits(container);
      if (host_network) SetHostPorts(container);
    }
  }
  if (GateEnabled("PodLevelResources")) SetPodLevelRequests(*spec);
  SetIfAbsent(*spec, "enableServiceLinks", true);
}

void SetTemplateDefaults(Value& object) {
  if (Value* spec = object.FindPath({"spec", "template", "spec"})) SetPodSpecDefaults(*spec);
}

}  // namespace flyball::api
