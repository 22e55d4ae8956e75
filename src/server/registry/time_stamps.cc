#include "server/registry/time_stamps.h"

#include "api/values/time.h"

namespace flyball::server {
namespace {

void FillInTaint(json::Value& taint, const std::string& now) {
  if (taint.is_object() && taint["timeAdded"].is_null()) taint["timeAdded"] = now;
}

void FillInSlice(json::Value& object, const std::string& now) {
  auto* devices = object.FindPath({"spec", "devices"});
  if (devices == nullptr || !devices->is_array()) return;
  for (auto& device : devices->as_array()) {
    auto* taints = device.Find("taints");
    if (taints == nullptr || !taints->is_array()) continue;
    for (auto& taint : taints->as_array()) FillInTaint(taint, now);
  }
}

// The time is that of the effect: another effect gets a new one unless the client sets it.
void FillInTaintRule(json::Value& object, const json::Value* old, const std::string& now) {
  auto* taint = object.FindPath({"spec", "taint"});
  if (taint == nullptr || !taint->is_object()) return;
  if (old != nullptr) {
    const auto& before = (*old)["spec"]["taint"];
    if ((*taint)["effect"] != before["effect"] && (*taint)["timeAdded"] == before["timeAdded"])
      (*taint)["timeAdded"] = now;
  }
  FillInTaint(*taint, now);
}

}  // namespace

void FillInTimes(const ServedResource& resource, std::string_view subresource, TimePoint now,
                 json::Value& object, const json::Value* old) {
  const auto& kind = *resource.kind;
  if (resource.custom || kind.group != "resource.k8s.io" || !subresource.empty()) return;
  if (kind.kind == "ResourceSlice") FillInSlice(object, api::FormatTime(now));
  if (kind.kind == "DeviceTaintRule") FillInTaintRule(object, old, api::FormatTime(now));
}

}  // namespace flyball::server
