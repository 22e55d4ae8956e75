#include "controllers/devicetaints/device_evictions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/select/devices.h"
#include "controller/pods/pod_claims.h"

namespace flyball::controllers {
namespace {

constexpr char kEvicting[] = "NoExecute";

struct EvictingTaint {
  DeviceTaint taint;
  std::string rule;  // its UID; "" if the taint comes from a slice
};

// In the newest generation of its pool; null if it is not published any more.
const Device* FindDevice(const std::vector<std::shared_ptr<const ResourceSlice>>& slices,
                         const DeviceId& id) {
  const Device* found = nullptr;
  std::int64_t newest = -1;
  for (const auto& slice : slices) {
    const ResourceSliceSpec& spec = slice->spec;
    if (spec.driver != id.driver || spec.pool.name != id.pool || spec.pool.generation < newest) continue;
    if (spec.pool.generation > newest) found = nullptr;
    newest = spec.pool.generation;
    for (const Device& device : spec.devices)
      if (device.name == id.device) found = &device;
  }
  return found;
}

std::vector<EvictingTaint> TaintsOf(const DeviceId& id, Context& ctx, const DeviceTaintRule* pretend) {
  std::vector<EvictingTaint> taints;
  const auto slices = ctx.lister<ResourceSlice>().List();
  if (const Device* device = FindDevice(slices, id))
    for (const DeviceTaint& taint : device->taints)
      if (taint.effect == kEvicting) taints.push_back({taint, ""});
  for (const auto& rule : ctx.lister<DeviceTaintRule>().List()) {
    const bool pretended = pretend && rule->metadata.uid == pretend->metadata.uid;
    if (!Selects(*rule, id) || (rule->spec.taint.effect != kEvicting && !pretended)) continue;
    taints.push_back({rule->spec.taint, rule->metadata.uid});
    taints.back().taint.effect = kEvicting;
  }
  return taints;
}

// When the taint ends the use of the device; nothing if it is tolerated for ever. Of several tolerations the
// shortest counts.
std::optional<TimePoint> EndOfUse(const DeviceRequestAllocationResult& allocated, const DeviceTaint& taint,
                                  TimePoint now) {
  const TimePoint since = taint.time_added ? taint.time_added->ToTimePoint() : now;
  std::optional<std::int64_t> seconds;
  for (const DeviceToleration& toleration : allocated.tolerations) {
    if (toleration.effect != kEvicting || !Tolerates(toleration, taint)) continue;
    if (!toleration.toleration_seconds) return std::nullopt;
    const std::int64_t tolerated = std::max<std::int64_t>(*toleration.toleration_seconds, 0);
    seconds = std::min(seconds.value_or(tolerated), tolerated);
  }
  return since + std::chrono::seconds(seconds.value_or(0));
}

void AddEviction(const ResourceClaimObject& claim, Context& ctx, const DeviceTaintRule* pretend,
                 std::optional<DeviceEviction>& eviction) {
  for (const DeviceRequestAllocationResult& allocated : claim.status.allocation->devices.results) {
    for (const EvictingTaint& evicting : TaintsOf(IdOf(allocated), ctx, pretend)) {
      const auto end = EndOfUse(allocated, evicting.taint, ctx.Now());
      if (!end) continue;
      if (!eviction) eviction = DeviceEviction{*end, {}};
      eviction->at = std::min(eviction->at, *end);
      if (!evicting.rule.empty()) eviction->rules.insert(evicting.rule);
    }
  }
}

}  // namespace

std::optional<DeviceEviction> EvictionOf(const Pod& pod, Context& ctx, const DeviceTaintRule* pretend) {
  std::optional<DeviceEviction> eviction;
  if (pod.spec.node_name.empty()) return eviction;
  for (const PodResourceClaim& entry : pod.spec.resource_claims) {
    const PodClaim named = ClaimOf(pod, entry);
    if (named.state != PodClaim::State::kNamed) continue;
    const auto claim = ctx.lister<ResourceClaimObject>().Get(pod.metadata.namespace_, named.name);
    if (!claim || !claim->status.allocation || !IsReservedFor(pod, *claim)) continue;
    if (named.made_for_pod && !CheckMadeFor(pod, *claim)) continue;
    AddEviction(*claim, ctx, pretend, eviction);
  }
  return eviction;
}

}  // namespace flyball::controllers
