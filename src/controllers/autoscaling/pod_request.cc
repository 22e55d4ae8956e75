#include "controllers/autoscaling/pod_request.h"

#include <optional>
#include <vector>

namespace flyball::controllers {
namespace {

std::optional<std::int64_t> MilliIn(const std::map<std::string, api::Quantity>& list,
                                    const std::string& resource) {
  const auto found = list.find(resource);
  if (found == list.end()) return std::nullopt;
  return found->second.MilliValue();
}

Error MissingRequest(const std::string& what, const std::string& pod) {
  return Error(Reason::kInvalid, "missing " + what + " Pod " + pod);
}

// Upstream: IsPodLevelRequestsSet looks for these alone.
bool HasOwnRequests(const Pod& pod) {
  if (!pod.spec.resources) return false;
  for (const auto& [name, amount] : pod.spec.resources->requests)
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) return true;
  return false;
}

}  // namespace

Result<std::int64_t> RequestOf(const Pod& pod, const std::string& resource, const std::string& container) {
  const std::string& name = pod.metadata.name;
  if (container.empty() && HasOwnRequests(pod))
    if (const auto own = MilliIn(pod.spec.resources->requests, resource)) return *own;
  std::vector<const Container*> counted;
  for (const Container& each : pod.spec.containers) counted.push_back(&each);
  for (const Container& each : pod.spec.init_containers)
    if (each.restart_policy == "Always") counted.push_back(&each);
  std::int64_t sum = 0;
  bool found = container.empty();
  for (const Container* each : counted) {
    if (!container.empty() && each->name != container) continue;
    const auto request = MilliIn(each->resources.requests, resource);
    if (!request)
      return Unexpected(
          MissingRequest("request for " + resource + " in container " + each->name + " of", name));
    sum += *request;
    found = true;
  }
  if (!found)
    return Unexpected(Error(Reason::kInvalid, "container " + container + " not found in Pod " + name));
  return sum;
}

}  // namespace flyball::controllers
