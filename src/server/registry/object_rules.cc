#include "server/registry/object_rules.h"

#include <algorithm>

#include "api/values/time.h"
#include "json/json.h"
#include "server/registry/certificate_requests.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kCustomObjectsFinalizer = "customresourcecleanup.apiextensions.k8s.io";
// A generated name keeps within 63 characters: 58 of the prefix and 5 random ones.
constexpr std::size_t kMaxGeneratedPrefix = 58;

bool HasStatus(const ServedResource& resource) {
  return resource.kind->HasSubresource("status");
}

bool IsNamespace(const ServedResource& resource) {
  return resource.kind->group.empty() && resource.kind->kind == "Namespace";
}

Status CheckNamespace(const RequestScope& scope, const ServedResource& resource, json::Value& metadata) {
  auto& members = metadata.as_object();
  if (!resource.kind->namespaced) {
    members.Erase("namespace");
    return {};
  }
  const auto given = metadata["namespace"].string_or("");
  if (given.empty()) {
    members.Set("namespace", scope.info.namespace_name);
  } else if (given != scope.info.namespace_name) {
    return Unexpected(
        BadRequest("the namespace of the provided object does not match the namespace sent on the request"));
  }
  return {};
}

bool TracksGeneration(const ServedResource& resource) {
  return resource.custom || resource.hooks->generation;
}

void CarryMember(json::Value& metadata, const json::Value& old, std::string_view key) {
  if (const auto* value = old.Find(key)) {
    metadata.as_object().Set(key, *value);
  } else {
    metadata.as_object().Erase(key);
  }
}

// What an endpoint for a part of an object leaves of its metadata: who manages it changes, and its version
// (upstream: ResetObjectMetaForStatus).
json::Value KeptMetadata(const json::Value& old, const json::Value& metadata) {
  json::Value kept = old["metadata"];
  CarryMember(kept, metadata, "managedFields");
  CarryMember(kept, metadata, "resourceVersion");
  return kept;
}

std::vector<std::string> Strings(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

struct GarbagePolicy {
  bool orphan = false, foreground = false;
};

// What the options say, else what an earlier delete said (its finalizers), else the kind's default.
GarbagePolicy PolicyFor(const ServedResource& resource, const std::vector<std::string>& finalizers,
                        const DeleteOptions& options) {
  if (options.orphan_dependents) return {*options.orphan_dependents, false};
  if (options.propagation_policy)
    return {*options.propagation_policy == "Orphan", *options.propagation_policy == "Foreground"};
  if (Contains(finalizers, kOrphanFinalizer)) return {true, false};
  if (Contains(finalizers, kForegroundFinalizer)) return {false, true};
  return {resource.hooks->orphan_dependents, false};
}

void SetFinalizers(json::Value& metadata, const std::vector<std::string>& finalizers) {
  if (finalizers.empty()) {
    metadata.as_object().Erase("finalizers");
    return;
  }
  json::Array list(finalizers.begin(), finalizers.end());
  metadata["finalizers"] = std::move(list);
}

bool ApplyGarbagePolicy(const ServedResource& resource, const DeleteOptions& options, json::Value& metadata) {
  const auto before = Strings(metadata["finalizers"]);
  const auto policy = PolicyFor(resource, before, options);
  auto after = before;
  std::erase(after, kOrphanFinalizer);
  std::erase(after, kForegroundFinalizer);
  if (policy.orphan) after.emplace_back(kOrphanFinalizer);
  if (policy.foreground) after.emplace_back(kForegroundFinalizer);
  auto sorted_before = before, sorted_after = after;
  std::sort(sorted_before.begin(), sorted_before.end());
  std::sort(sorted_after.begin(), sorted_after.end());
  if (sorted_before == sorted_after) return false;
  SetFinalizers(metadata, after);
  return true;
}

void BumpGeneration(json::Value& metadata) {
  if (const auto generation = metadata["generation"].int_or(0); generation > 0)
    metadata["generation"] = generation + 1;
}

void MarkDeleting(json::Value& metadata, TimePoint now, std::int64_t grace) {
  if (metadata["deletionTimestamp"].is_null()) BumpGeneration(metadata);
  metadata["deletionTimestamp"] = api::FormatTime(now + std::chrono::seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
}

// The grace period this DELETE asks for; nullopt if the kind goes without one.
std::optional<std::int64_t> WantedGrace(const ServedResource& resource, const json::Value& object,
                                        const DeleteOptions& options) {
  if (!resource.hooks->grace_seconds) return std::nullopt;
  return resource.hooks->grace_seconds(object, options.grace_seconds);
}

// Grace can only shorten.
DeletionPlan Shorten(DeletionPlan plan, TimePoint now, std::int64_t grace) {
  auto& metadata = plan.object["metadata"];
  const auto current = metadata["deletionGracePeriodSeconds"].int_or(0);
  plan.remove = grace == 0;
  plan.unchanged = !plan.remove && grace >= current;
  if (!plan.unchanged) MarkDeleting(metadata, now, grace);
  return plan;
}

}  // namespace

bool SameSpec(const ServedResource& resource, const json::Value& a, const json::Value& b) {
  const bool ignore_status = HasStatus(resource);
  const auto counted = [&](const std::string& key) {
    return key != "metadata" && key != "apiVersion" && key != "kind" && !(ignore_status && key == "status");
  };
  for (const auto& [key, value] : a.as_object()) {
    if (!counted(key)) continue;
    const auto* other = b.Find(key);
    if (!other || !(*other == value)) return false;
  }
  for (const auto& [key, value] : b.as_object())
    if (counted(key) && !a.Find(key)) return false;
  return true;
}

Status PrepareForCreate(const RequestScope& scope, const ServedResource& resource, json::Value& object) {
  auto& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::Object{};
  FLYBALL_TRY(CheckNamespace(scope, resource, metadata));
  auto& members = metadata.as_object();
  for (const auto key :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"})
    members.Erase(key);
  return {};
}

void FillSystemFields(const RequestScope& scope, const ServedResource& resource, Random& random,
                      json::Value& object) {
  auto& metadata = object["metadata"];
  if (metadata["name"].string_or("").empty()) {
    if (const auto prefix = metadata["generateName"].string_or(""); !prefix.empty())
      metadata["name"] = std::string(prefix.substr(0, kMaxGeneratedPrefix)) + random.NameSuffix();
  }
  metadata["uid"] = random.Uuid();
  metadata["creationTimestamp"] = api::FormatTime(scope.now);
  if (TracksGeneration(resource)) metadata["generation"] = 1;
  if (HasStatus(resource) && !resource.hooks->keep_status_on_create) object.as_object().Erase("status");
}

void PrepareKindForCreate(const RequestScope& scope, const ServedResource& resource, json::Value& object) {
  if (resource.hooks->prepare_for_create) resource.hooks->prepare_for_create(object);
  if (IsCertificateRequest(resource)) SetRequester(scope.user, object["spec"]);
}

void PrepareForUpdate(const RequestScope& scope, const ServedResource& resource, std::string_view subresource,
                      const json::Value& old, json::Value& object) {
  auto& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::Object{};
  const auto& old_metadata = old["metadata"];
  if (metadata["uid"].string_or("").empty()) CarryMember(metadata, old_metadata, "uid");
  if (metadata["creationTimestamp"].is_null()) CarryMember(metadata, old_metadata, "creationTimestamp");
  // Deletion is asked for by DELETE only, and is never taken back. What else a request says of it is refused.
  if (!old_metadata["deletionTimestamp"].is_null()) CarryMember(metadata, old_metadata, "deletionTimestamp");
  if (metadata["deletionGracePeriodSeconds"].is_null())
    CarryMember(metadata, old_metadata, "deletionGracePeriodSeconds");
  CarryMember(metadata, old_metadata, "generation");
  metadata.as_object().Erase("selfLink");

  if (subresource == "status") {
    json::Value next = old;
    next["metadata"] = metadata;
    if (resource.custom || resource.hooks->status_keeps_metadata)
      next["metadata"] = KeptMetadata(old, metadata);
    if (auto* status = object.Find("status")) {
      next["status"] = std::move(*status);
    } else {
      next.as_object().Erase("status");
    }
    object = std::move(next);
  } else if (subresource.empty() && HasStatus(resource)) {
    CarryMember(object, old, "status");
  }
  if (resource.hooks->prepare_for_update && subresource.empty())
    resource.hooks->prepare_for_update(object, old);
  if (resource.hooks->prepare_for_status_update && subresource == "status")
    resource.hooks->prepare_for_status_update(object, old);
  const bool is_part =
      subresource == "ephemeralcontainers" || subresource == "resize" || subresource == "approval";
  if (is_part && resource.hooks->prepare_for_part_update) {
    if (subresource != "approval") object["metadata"] = KeptMetadata(old, object["metadata"]);
    resource.hooks->prepare_for_part_update(subresource, object, old);
  }
  if (IsCertificateRequest(resource)) SetConditionTimes(scope.now, old, object);
  // Binding a pod is not a change of what was asked for.
  if (TracksGeneration(resource) && subresource != "binding" && !SameSpec(resource, object, old)) {
    auto& updated = object["metadata"];
    updated["generation"] = old_metadata["generation"].int_or(0) + 1;
  }
}

bool ReadyToRemove(const ServedResource& resource, const json::Value& object) {
  const auto& metadata = object["metadata"];
  if (metadata["deletionTimestamp"].is_null() || !metadata["finalizers"].empty()) return false;
  if (IsNamespace(resource)) return object["spec"]["finalizers"].empty();
  return metadata["deletionGracePeriodSeconds"].int_or(0) == 0;
}

namespace {

// A definition goes after its objects: the finalizer that waits for them is added when its deletion begins
// (upstream does so too, in the registry of definitions).
void HoldForObjects(const ServedResource& resource, json::Value& metadata) {
  if (resource.kind->group != "apiextensions.k8s.io" || resource.kind->kind != "CustomResourceDefinition")
    return;
  if (!metadata["deletionTimestamp"].is_null()) return;
  auto finalizers = Strings(metadata["finalizers"]);
  if (Contains(finalizers, kCustomObjectsFinalizer)) return;
  finalizers.emplace_back(kCustomObjectsFinalizer);
  SetFinalizers(metadata, finalizers);
}

}  // namespace

Result<DeletionPlan> PlanDeletion(const RequestScope& scope, const ServedResource& resource,
                                  const json::Value& current, const DeleteOptions& options) {
  DeletionPlan plan{current};
  auto& metadata = plan.object["metadata"];
  const bool already = !metadata["deletionTimestamp"].is_null();
  HoldForObjects(resource, metadata);
  const bool finalizers_changed = ApplyGarbagePolicy(resource, options, metadata);
  const bool held = !metadata["finalizers"].empty() ||
                    (IsNamespace(resource) && !plan.object["spec"]["finalizers"].empty());

  if (IsNamespace(resource)) {
    if (!already) metadata["deletionTimestamp"] = api::FormatTime(scope.now);
    plan.object["status"]["phase"] = "Terminating";
    plan.remove = !held;
    plan.unchanged = already && !finalizers_changed && held;
    return plan;
  }
  const auto grace = WantedGrace(resource, plan.object, options);
  if (already) {
    if (grace) plan = Shorten(std::move(plan), scope.now, *grace);
    plan.remove = !held && (!grace || plan.remove);
    plan.marked = grace.has_value();
    plan.unchanged = !plan.remove && !finalizers_changed && (!grace || plan.unchanged);
    return plan;
  }
  if (grace) {
    MarkDeleting(metadata, scope.now, *grace);
    plan.remove = !held && *grace == 0;
    plan.marked = true;
  } else if (held) {
    MarkDeleting(metadata, scope.now, 0);
  } else {
    plan.remove = true;
  }
  return plan;
}

Status CheckPreconditions(const ServedResource& resource, const StoredObject& current,
                          const DeleteOptions& options) {
  // Upstream names the kind, not the resource, in these two.
  api::KindInfo shown = *resource.kind;
  shown.plural = resource.kind->kind;
  if (shown.group == "events.k8s.io") shown.group = "";  // they are kept as core's
  if (IsNamespace(resource) && options.uid && *options.uid != current.uid())
    return Unexpected(Conflict(*resource.kind, current.name(),
                               "Precondition failed: UID in precondition: " + *options.uid +
                                   ", UID in object meta: " + current.uid()));
  if (options.uid && *options.uid != current.uid())
    return Unexpected(Conflict(shown, current.name(),
                               "the UID in the precondition (" + *options.uid +
                                   ") does not match the UID in record (" + current.uid() +
                                   "). The object might have been deleted and then recreated"));
  if (options.resource_version && *options.resource_version != std::to_string(current.revision()))
    return Unexpected(Conflict(shown, current.name(),
                               "the ResourceVersion in the precondition (" + *options.resource_version +
                                   ") does not match the ResourceVersion in record (" +
                                   std::to_string(current.revision()) +
                                   "). The object might have been modified"));
  return {};
}

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

std::string DropRepeatedOwners(json::Value& metadata) {
  std::string repeated;
  auto* owners = metadata.is_object() ? metadata.Find("ownerReferences") : nullptr;
  if (owners == nullptr || !owners->is_array() || owners->size() < 2) return repeated;
  json::Array kept;
  json::Object seen;  // by what makes owners equal: a client may send very many
  for (auto& owner : owners->as_array()) {
    const std::string text = json::EqualityText(owner);
    if (!seen.contains(text)) {
      seen.AppendNull(text);
      kept.push_back(std::move(owner));
    } else {
      repeated += (repeated.empty() ? "" : ", ") + std::string(owner["uid"].string_or(""));
    }
  }
  *owners = std::move(kept);
  return repeated;
}

}  // namespace flyball::server
