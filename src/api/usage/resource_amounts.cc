#include "api/usage/resource_amounts.h"

namespace flyball::api {
namespace {

bool IsSidecar(const json::Value& container) {
  return container["restartPolicy"].string_or("") == "Always";
}

// Resources that can be asked for by a pod as a whole (upstream: SupportedPodLevelResources).
bool IsPodLevel(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

ResourceAmounts ContainerAmounts(const json::Value& container, std::string_view list) {
  return ResourceAmountsOf(container["resources"][list]);
}

}  // namespace

ResourceAmounts ResourceAmountsOf(const json::Value& list) {
  ResourceAmounts amounts;
  if (!list.is_object()) return amounts;
  for (const auto& [name, value] : list.as_object())
    if (auto quantity = Quantity::Parse(value.string_or(""))) amounts.emplace(name, std::move(*quantity));
  return amounts;
}

json::Value ResourceListValue(const ResourceAmounts& amounts) {
  json::Object list;
  for (const auto& [name, quantity] : amounts) list.Set(name, quantity.ToString());
  return list;
}

void AddAmounts(ResourceAmounts& to, const ResourceAmounts& amounts) {
  for (const auto& [name, quantity] : amounts) to[name] += quantity;
}

void RaiseAmounts(ResourceAmounts& to, const ResourceAmounts& at_least) {
  for (const auto& [name, quantity] : at_least) {
    const auto [place, added] = to.emplace(name, quantity);
    if (!added && place->second < quantity) place->second = quantity;
  }
}

ResourceAmounts PodResources(const json::Value& spec, std::string_view list, PodOverhead overhead) {
  ResourceAmounts total;
  if (const auto& containers = spec["containers"]; containers.is_array())
    for (const auto& container : containers.as_array()) AddAmounts(total, ContainerAmounts(container, list));
  ResourceAmounts sidecars, start;
  if (const auto& containers = spec["initContainers"]; containers.is_array())
    for (const auto& container : containers.as_array()) {
      auto moment = ContainerAmounts(container, list);
      if (IsSidecar(container)) {
        AddAmounts(total, moment);
        AddAmounts(sidecars, moment);
        moment = sidecars;
      } else {
        AddAmounts(moment, sidecars);
      }
      RaiseAmounts(start, moment);
    }
  RaiseAmounts(total, start);
  // What is said of the pod as a whole stands for its containers.
  for (const auto& [name, quantity] : ResourceAmountsOf(spec["resources"][list]))
    if (IsPodLevel(name)) total[name] = quantity;
  if (overhead == PodOverhead::kLeftOut) return total;
  // Overhead raises a limit only where there is one.
  for (const auto& [name, quantity] : ResourceAmountsOf(spec["overhead"]))
    if (list == "requests" || total.contains(name)) total[name] += quantity;
  return total;
}

}  // namespace flyball::api
