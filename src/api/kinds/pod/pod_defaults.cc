#include "api/kinds/pod/pod_defaults.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "api/rules/access.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

// Whether it is an image's name as the registries' reference grammar has it. A first part without a dot or a
// port is no host, and everything but hosts, tags and digests is lower case.
bool IsImageReference(std::string_view image) {
  static const RE2 kIdentifier("[a-f0-9]{64}");
  static const RE2 kRemainder(
      R"([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)"
      R"((?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,})?)");
  static const RE2 kHost(
      R"((?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?)");
  const re2::StringPiece whole(image.data(), image.size());
  if (RE2::FullMatch(whole, kIdentifier)) return false;
  const std::size_t slash = image.find('/');
  const std::string_view first = image.substr(0, slash);
  const bool upper = std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool has_host =
      slash != std::string_view::npos &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost" || upper);
  if (has_host && !RE2::FullMatch(re2::StringPiece(first.data(), first.size()), kHost)) return false;
  const std::string_view rest = has_host ? image.substr(slash + 1) : image;
  constexpr std::size_t kMaxName = 255;
  if (image.substr(0, image.find_first_of(":@", has_host ? slash : 0)).size() > kMaxName) return false;
  return RE2::FullMatch(re2::StringPiece(rest.data(), rest.size()), kRemainder);
}

// ":latest" and no tag at all are pulled always; a digest or another tag, and what is no image's name, only
// if absent.
std::string_view PullPolicyFor(std::string_view image) {
  if (image.find('@') != std::string_view::npos || !IsImageReference(image)) return "IfNotPresent";
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
  if (!GateEnabled("PodLevelResourcesFixDefaulting")) SetPodLevelDefaults(pod);
  SetIfAbsent(*spec, "enableServiceLinks", true);
}

// Resources of a pod as a whole, from what its containers ask for together (upstream: api/pod,
// DefaultPodLevelResources).
namespace {

using PodLevelTotals = std::map<std::string, Quantity>;

bool IsHugePage(std::string_view name) {
  return name.starts_with("hugepages-");
}
bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || IsHugePage(name);
}
bool IsRestartable(const Value& container) {
  return Text(container, "restartPolicy") == "Always";
}

void AddTo(PodLevelTotals& totals, const Value& list) {
  for (const auto& [name, quantity] : Entries(list)) totals[name] += QuantityOf(quantity);
}
void RaiseTo(PodLevelTotals& totals, const PodLevelTotals& other) {
  for (const auto& [name, quantity] : other) {
    const auto it = totals.find(name);
    if (it == totals.end())
      totals[name] = quantity;
    else if (it->second < quantity)
      it->second = quantity;
  }
}

// What all containers have at once, or one of those that run first beside the ones that stay.
PodLevelTotals AggregateContainers(const Value& spec, std::string_view list) {
  PodLevelTotals together, staying, highest;
  for (const Value& container : Items(spec["containers"])) AddTo(together, container["resources"][list]);
  for (const Value& container : Items(spec["initContainers"])) {
    const Value& own = container["resources"][list];
    PodLevelTotals now = staying;
    AddTo(now, own);
    if (IsRestartable(container)) {
      AddTo(together, own);
      staying = now;
    }
    RaiseTo(highest, now);
  }
  RaiseTo(together, highest);
  return together;
}

bool AllContainersLimit(const Value& spec, std::string_view name) {
  for (const char* list : {"containers", "initContainers"})
    for (const Value& container : Items(spec[list]))
      if (container["resources"]["limits"].Find(name) == nullptr) return false;
  return true;
}

bool Lists(const Value& resources, std::string_view list, std::string_view name) {
  return resources[list].Find(name) != nullptr;
}

void SetHugePageLimits(const Value& spec, Value& resources) {
  for (const auto& [name, total] : AggregateContainers(spec, "limits"))
    if (IsHugePage(name) && !Lists(resources, "requests", name) && !Lists(resources, "limits", name))
      resources["limits"][name] = total.ToString();
}

void SetRequests(const Value& spec, Value& resources) {
  for (const auto& [name, total] : AggregateContainers(spec, "requests"))
    if (IsPodLevelResource(name) && !IsHugePage(name) && !Lists(resources, "requests", name))
      resources["requests"][name] = total.ToString();
  const Value limits = Get(resources, "limits");
  for (const auto& [name, quantity] : Entries(limits))
    if (IsPodLevelResource(name) && !Lists(resources, "requests", name))
      resources["requests"][name] = quantity;
}

// Where every container is limited so is the pod; never below what it asks for.
void SetLimits(const Value& spec, Value& resources) {
  const Value requests = Get(resources, "requests");
  const PodLevelTotals totals = AggregateContainers(spec, "limits");
  for (const auto& [name, requested] : Entries(requests)) {
    const auto total = totals.find(name);
    if (!IsPodLevelResource(name) || Lists(resources, "limits", name) || total == totals.end() ||
        !AllContainersLimit(spec, name))
      continue;
    resources["limits"][name] = std::max(total->second, QuantityOf(requested)).ToString();
  }
}

}  // namespace

void SetPodLevelDefaults(Value& pod) {
  Value* resources = pod.FindPath({"spec", "resources"});
  if (!GateEnabled("PodLevelResources") || resources == nullptr || !resources->is_object()) return;
  if (Get(*resources, "requests").size() == 0 && Get(*resources, "limits").size() == 0) return;
  const Value spec = Get(pod, "spec");
  SetHugePageLimits(spec, *resources);
  SetRequests(spec, *resources);
  if (GateEnabled("PodLevelResourcesFixDefaulting")) SetLimits(spec, *resources);
}

void SetTemplateDefaults(Value& object) {
  if (Value* spec = object.FindPath({"spec", "template", "spec"})) SetPodSpecDefaults(*spec);
}

}  // namespace flyball::api
