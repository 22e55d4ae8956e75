#include "server/admission/pods/limit_ranger.h"

#include <cstdio>
#include <string>
#include <vector>

#include "api/usage/resource_amounts.h"
#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

using api::Quantity;
using api::ResourceAmounts;

constexpr std::string_view kDefaultsAnnotation = "kubernetes.io/limit-ranger";

std::string JoinNames(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (const auto& name : names) (text += text.empty() ? std::string_view{} : between) += name;
  return text;
}

// Sets what `list` does not say; the names set, in order.
std::vector<std::string> SetMissing(json::Value& list, const ResourceAmounts& defaults) {
  std::vector<std::string> names;
  for (const auto& [name, quantity] : defaults) {
    if (list.Find(name)) continue;
    list[name] = quantity.ToString();
    names.push_back(name);
  }
  return names;
}

struct ContainerDefaults {
  ResourceAmounts requests, limits;
};

ContainerDefaults DefaultsOf(const json::Value& limit_range) {
  ContainerDefaults defaults;
  if (const auto& items = limit_range["spec"]["limits"]; items.is_array())
    for (const auto& item : items.as_array()) {
      if (item["type"].string_or("") != "Container") continue;
      for (auto& [name, quantity] : api::ResourceAmountsOf(item["defaultRequest"]))
        defaults.requests[name] = quantity;
      for (auto& [name, quantity] : api::ResourceAmountsOf(item["default"])) defaults.limits[name] = quantity;
    }
  return defaults;
}

void SetContainerDefaults(json::Value& spec, std::string_view list, std::string_view shown,
                          const ContainerDefaults& defaults, std::vector<std::string>& notes) {
  auto* containers = spec.Find(list);
  if (!containers || !containers->is_array()) return;
  for (auto& container : containers->as_array()) {
    auto& resources = container["resources"];
    const std::string of = std::string(shown) + " " + std::string(container["name"].string_or(""));
    const auto limits = SetMissing(resources["limits"], defaults.limits);
    const auto requests = SetMissing(resources["requests"], defaults.requests);
    if (!requests.empty()) notes.push_back(JoinNames(requests, ", ") + " request for " + of);
    if (!limits.empty()) notes.push_back(JoinNames(limits, ", ") + " limit for " + of);
  }
}

void SetPodDefaults(json::Value& pod, const json::Value& limit_range) {
  const auto defaults = DefaultsOf(limit_range);
  if (defaults.requests.empty() && defaults.limits.empty()) return;
  std::vector<std::string> notes;
  SetContainerDefaults(pod["spec"], "containers", "container", defaults, notes);
  SetContainerDefaults(pod["spec"], "initContainers", "init container", defaults, notes);
  if (notes.empty()) return;
  pod["metadata"]["annotations"][kDefaultsAnnotation] = "LimitRanger plugin set: " + JoinNames(notes, "; ");
}

// Checks amounts against one item of a LimitRange, in upstream's words.
class BoundsCheck {
 public:
  BoundsCheck(const json::Value& item, std::vector<std::string>& problems)
      : item_(item), type_(item["type"].string_or("")), problems_(problems) {}

  void Check(const ResourceAmounts& requests, const ResourceAmounts& limits) {
    for (const auto& [name, bound] : api::ResourceAmountsOf(item_["min"]))
      CheckMin(name, bound, requests, limits);
    for (const auto& [name, bound] : api::ResourceAmountsOf(item_["max"]))
      CheckMax(name, bound, requests, limits);
    for (const auto& [name, bound] : api::ResourceAmountsOf(item_["maxLimitRequestRatio"]))
      CheckRatio(name, bound, requests, limits);
  }

  // Claims have requests only.
  void CheckClaim(const ResourceAmounts& requests) {
    for (const auto& [name, bound] : api::ResourceAmountsOf(item_["min"]))
      CheckMin(name, bound, requests, {});
    for (const auto& [name, bound] : api::ResourceAmountsOf(item_["max"])) {
      const auto request = requests.find(name);
      if (request == requests.end()) {
        Add("maximum " + name + " usage per ", bound, ".  No request is specified");
      } else if (request->second > bound) {
        Add("maximum " + name + " usage per ", bound, ", but request is " + request->second.ToString());
      }
    }
  }

 private:
  void Add(std::string_view start, const Quantity& bound, std::string_view end) {
    problems_.push_back(std::string(start) + type_ + " is " + bound.ToString() + std::string(end));
  }

  void CheckMin(const std::string& name, const Quantity& bound, const ResourceAmounts& requests,
                const ResourceAmounts& limits) {
    const std::string start = "minimum " + name + " usage per ";
    const auto request = requests.find(name), limit = limits.find(name);
    if (request == requests.end()) return Add(start, bound, ".  No request is specified");
    if (request->second < bound) return Add(start, bound, ", but request is " + request->second.ToString());
    if (limit != limits.end() && limit->second < bound)
      Add(start, bound, ", but limit is " + limit->second.ToString());
  }

  void CheckMax(const std::string& name, const Quantity& bound, const ResourceAmounts& requests,
                const ResourceAmounts& limits) {
    const std::string start = "maximum " + name + " usage per ";
    const auto request = requests.find(name), limit = limits.find(name);
    if (limit == limits.end()) return Add(start, bound, ".  No limit is specified");
    if (limit->second > bound) return Add(start, bound, ", but limit is " + limit->second.ToString());
    if (request != requests.end() && request->second > bound)
      Add(start, bound, ", but request is " + request->second.ToString());
  }

  void CheckRatio(const std::string& name, const Quantity& bound, const ResourceAmounts& requests,
                  const ResourceAmounts& limits) {
    const std::string start = name + " max limit to request ratio per ";
    const auto request = requests.find(name), limit = limits.find(name);
    if (request == requests.end() || request->second.IsZero())
      return Add(start, bound, ", but no request is specified or request is 0");
    if (limit == limits.end() || limit->second.IsZero())
      return Add(start, bound, ", but no limit is specified or limit is 0");
    const double ratio = limit->second.ToDouble() / request->second.ToDouble();
    if (ratio <= bound.ToDouble()) return;
    char shown[64];
    std::snprintf(shown, sizeof shown, "%f", ratio);
    Add(start, bound, std::string(", but provided ratio is ") + shown);
  }

  const json::Value& item_;
  const std::string type_;
  std::vector<std::string>& problems_;
};

void CheckPod(const json::Value& item, const json::Value& spec, std::vector<std::string>& problems) {
  BoundsCheck check(item, problems);
  if (item["type"].string_or("") == "Pod")
    return check.Check(api::PodResources(spec, "requests", api::PodOverhead::kLeftOut),
                       api::PodResources(spec, "limits", api::PodOverhead::kLeftOut));
  if (item["type"].string_or("") != "Container") return;
  for (const std::string_view list : {"containers", "initContainers"})
    if (const auto& containers = spec[list]; containers.is_array())
      for (const auto& container : containers.as_array())
        check.Check(api::ResourceAmountsOf(container["resources"]["requests"]),
                    api::ResourceAmountsOf(container["resources"]["limits"]));
}

class LimitRanger final : public AdmissionPlugin {
 public:
  explicit LimitRanger(const Catalog& catalog) : ranges_(catalog.Find("", "v1", "limitranges")) {}
  std::string_view name() const override { return "LimitRanger"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    for (const ObjectPtr& range : RangesOf(request)) SetPodDefaults(*request.object, range->Parsed());
    co_return Status();
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const bool pod = CreatesPod(request) || ChangesPodResources(request);
    const bool claim = WritesClaim(request);
    if (!pod && !claim) co_return Status();
    for (const ObjectPtr& object : RangesOf(request)) {
      const json::Value& range = object->Parsed();
      std::vector<std::string> problems;
      const auto& items = range["spec"]["limits"];
      if (!items.is_array()) continue;
      for (const auto& item : items.as_array()) {
        const auto& spec = (*request.object)["spec"];
        if (pod) CheckPod(item, spec, problems);
        if (claim && item["type"].string_or("") == "PersistentVolumeClaim")
          BoundsCheck(item, problems).CheckClaim(api::ResourceAmountsOf(spec["resources"]["requests"]));
      }
      if (!problems.empty())
        co_return Unexpected(AdmissionForbidden(
            request, problems.size() == 1 ? problems[0] : "[" + JoinNames(problems, ", ") + "]"));
    }
    co_return Status();
  }

 private:
  static bool IsDeleting(const AdmissionRequest& request) {
    return request.old_object && !(*request.old_object)["metadata"]["deletionTimestamp"].is_null();
  }
  static bool ChangesPodResources(const AdmissionRequest& request) {
    return request.operation == AdmissionRequest::Operation::kUpdate && request.subresource == "resize" &&
           !IsDeleting(request);
  }
  static bool WritesClaim(const AdmissionRequest& request) {
    return request.object && request.subresource.empty() && request.resource.kind->group.empty() &&
           request.resource.kind->plural == "persistentvolumeclaims" && !IsDeleting(request);
  }

  std::vector<ObjectPtr> RangesOf(const AdmissionRequest& request) const {
    ObjectFilter filter;
    filter.namespace_name = request.namespace_name;
    return ranges_->cache->List(filter).objects;
  }

  const ResourcePtr ranges_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewLimitRanger(const Catalog& catalog) {
  return std::make_unique<LimitRanger>(catalog);
}

}  // namespace flyball::server
