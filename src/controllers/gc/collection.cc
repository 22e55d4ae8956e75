#include "controllers/gc/collection.h"

#include <algorithm>
#include <utility>

namespace flyball::controllers {
namespace {

// The deletion policy that follows from the finalizers of an object.
std::string PolicyFor(const json::Value& live) {
  const std::vector<std::string> finalizers = FinalizersIn(live);
  const auto has = [&](const char* name) {
    return std::find(finalizers.begin(), finalizers.end(), name) != finalizers.end();
  };
  if (has(kOrphanFinalizer)) return "Orphan";
  if (has(kForegroundFinalizer)) return "Foreground";
  return "Background";
}

bool Blocks(const GraphNode& dependent, const std::string& owner_uid) {
  return std::any_of(dependent.owners.begin(), dependent.owners.end(), [&](const OwnerReference& owner) {
    return owner.uid == owner_uid && owner.block_owner_deletion.value_or(false);
  });
}

Status IgnoreNotFound(const Result<json::Value>& answer) {
  if (!answer && !answer.error().Is(Reason::kNotFound)) return Unexpected(answer.error());
  return {};
}

}  // namespace

Result<Action> Collection::Run(const std::string& uid) {
  const std::optional<GraphNode> node = graph_.Find(uid);
  if (!node) return Done();
  if (node->is_virtual()) return VerifyVirtual(*node);
  if (node->deleting && node->orphan) return OrphanDependents(*node);
  if (node->waits_for_dependents()) return FinishForeground(*node);
  if (node->deleting || node->owners.empty()) return Done();
  return Collect(*node);
}

Result<Action> Collection::VerifyVirtual(const GraphNode& node) {
  const auto kind = kinds_.Find(node.api_version, node.kind);
  // The kind is not served, so it is unknown whether the object exists. Checked again when the kinds change.
  if (!kind) return kind.error().Is(Reason::kNotFound) ? Result<Action>(Done()) : Unexpected(kind.error());
  if (kind->namespaced && node.ns.empty()) return Done();
  FLYBALL_ASSIGN(const auto live, Read(*kind, kind->namespaced ? node.ns : "", node.name, node.uid));
  // It exists and no watch has shown it. It may go before one does, so it is asked for again.
  if (live) return Requeue();
  Forget(node.uid);
  return Done();
}

Result<Action> Collection::OrphanDependents(const GraphNode& node) {
  for (const GraphNode& dependent : graph_.DependentsOf(node.uid)) {
    if (dependent.is_virtual()) continue;
    FLYBALL_ASSIGN(const auto live, Read(*dependent.ref, dependent.ns, dependent.name, dependent.uid));
    if (!live) continue;
    std::vector<OwnerReference> owners = OwnersIn(*live);
    if (std::erase_if(owners, [&](const OwnerReference& owner) { return owner.uid == node.uid; }) == 0)
      continue;
    FLYBALL_TRY(WriteOwners(dependent, *live, owners));
  }
  FLYBALL_TRY(DropFinalizerOf(node, kOrphanFinalizer));
  return Done();
}

Result<Action> Collection::FinishForeground(const GraphNode& node) {
  bool blocked = false;
  for (const GraphNode& dependent : graph_.DependentsOf(node.uid)) {
    if (!Blocks(dependent, node.uid)) continue;
    blocked = true;
    if (!dependent.waits_for_dependents()) look_at_.push_back(dependent.uid);
  }
  if (!blocked) FLYBALL_TRY(DropFinalizerOf(node, kForegroundFinalizer));
  return Done();
}

Result<Action> Collection::Collect(const GraphNode& node) {
  FLYBALL_ASSIGN(const auto live, Read(*node.ref, node.ns, node.name, node.uid));
  if (!live) {
    Forget(node.uid);
    return Done();
  }
  const std::vector<OwnerReference> references = OwnersIn(*live);
  if (references.empty()) return Done();
  FLYBALL_ASSIGN(const Owners owners, Classify(node, references));
  if (owners.unresolvable) return Done();
  return Decide(node, *live, owners);
}

Result<Action> Collection::Decide(const GraphNode& node, const json::Value& live, const Owners& owners) {
  if (!owners.solid.empty()) {
    if (owners.dangling.empty() && owners.waiting.empty()) return Done();
    FLYBALL_TRY(WriteOwners(node, live, owners.solid));
    return Done();
  }
  std::string policy = PolicyFor(live);
  if (!owners.waiting.empty() && graph_.HasDependents(node.uid)) {
    policy = "Foreground";
    const std::vector<GraphNode> dependents = graph_.DependentsOf(node.uid);
    // A cycle: its members would wait for each other forever. This one stops blocking its owners.
    if (std::any_of(dependents.begin(), dependents.end(),
                    [](const GraphNode& dependent) { return dependent.waits_for_dependents(); })) {
      std::vector<OwnerReference> unblocked = OwnersIn(live);
      for (OwnerReference& owner : unblocked) owner.block_owner_deletion = false;
      FLYBALL_TRY(WriteOwners(node, live, unblocked));
      look_at_.push_back(node.uid);
      return Requeue();
    }
  }
  DeleteParams params;
  params.propagation_policy = policy;
  params.uid = node.uid;
  params.resource_version = live["metadata"]["resourceVersion"].string_or("");
  FLYBALL_TRY(IgnoreNotFound(ctx_.client().Dynamic(*node.ref).Delete(node.ns, node.name, params)));
  return Done();
}

Result<Collection::Owners> Collection::Classify(const GraphNode& node,
                                                const std::vector<OwnerReference>& references) {
  Owners owners;
  for (const OwnerReference& reference : references) {
    FLYBALL_ASSIGN(const OwnerState state, StateOf(node, reference));
    if (state == OwnerState::kSolid) owners.solid.push_back(reference);
    if (state == OwnerState::kDangling) owners.dangling.push_back(reference);
    if (state == OwnerState::kWaiting) owners.waiting.push_back(reference);
    if (state == OwnerState::kUnresolvable) owners.unresolvable = true;
  }
  return owners;
}

Result<Collection::OwnerState> Collection::StateOf(const GraphNode& node, const OwnerReference& reference) {
  FLYBALL_ASSIGN(const KindRef kind, kinds_.Find(reference.api_version, reference.kind));
  if (kind.namespaced && node.ns.empty()) return OwnerState::kUnresolvable;
  const std::string ns = kind.namespaced ? node.ns : "";
  const std::optional<GraphNode> known = graph_.Find(reference.uid);
  if (known && !known->is_virtual()) {
    if (known->ns == ns && known->name == reference.name && known->kind == reference.kind)
      return known->waits_for_dependents() ? OwnerState::kWaiting : OwnerState::kSolid;
    if (known->ns != ns) ReportWrongNamespace(node, reference);
  }
  FLYBALL_ASSIGN(const auto live, Read(kind, ns, reference.name, reference.uid));
  if (!live) return OwnerState::kDangling;
  const std::vector<std::string> finalizers = FinalizersIn(*live);
  const bool waits =
      (*live).Find("metadata")->Find("deletionTimestamp") != nullptr &&
      std::find(finalizers.begin(), finalizers.end(), kForegroundFinalizer) != finalizers.end();
  return waits ? OwnerState::kWaiting : OwnerState::kSolid;
}

void Collection::ReportWrongNamespace(const GraphNode& node, const OwnerReference& reference) {
  ctx_.recorder().Warning(
      EventTarget{*node.ref, node.ns, node.name, node.uid, "", ""}, "OwnerRefInvalidNamespace",
      "ownerRef [" + reference.api_version + "/" + reference.kind + ", namespace: " + node.ns + ", name: " +
          reference.name + ", uid: " + reference.uid + "] does not exist in namespace \"" + node.ns + "\"");
}

Result<std::optional<json::Value>> Collection::Read(const KindRef& kind, std::string_view ns,
                                                    std::string_view name, std::string_view uid) {
  auto live = ctx_.client().Dynamic(kind).Get(ns, name);
  if (!live && live.error().Is(Reason::kNotFound)) return std::optional<json::Value>();
  if (!live) return Unexpected(live.error());
  const json::Value& object = *live;
  if (object["metadata"]["uid"].string_or("") != uid) return std::optional<json::Value>();
  return std::optional<json::Value>(std::move(*live));
}

// Only if the object has not changed since it was read: a reference added in the meantime must not be lost.
Status Collection::WriteOwners(const GraphNode& node, const json::Value& live,
                               const std::vector<OwnerReference>& owners) {
  json::Array list;
  for (const OwnerReference& owner : owners) list.push_back(ToJson(owner));
  json::Object meta{{"uid", node.uid}, {"resourceVersion", live["metadata"]["resourceVersion"]}};
  meta.Append("ownerReferences", list.empty() ? json::Value() : json::Value(std::move(list)));
  return IgnoreNotFound(ctx_.client().Dynamic(*node.ref).Patch(node.ns, node.name, PatchType::kMerge,
                                                               json::Object{{"metadata", std::move(meta)}}));
}

Status Collection::DropFinalizerOf(const GraphNode& node, const char* finalizer) {
  FLYBALL_ASSIGN(const auto live, Read(*node.ref, node.ns, node.name, node.uid));
  if (!live) return {};
  json::Array kept;
  bool found = false;
  for (const std::string& name : FinalizersIn(*live)) {
    if (name == finalizer)
      found = true;
    else
      kept.emplace_back(name);
  }
  if (!found) return {};
  json::Object meta{{"resourceVersion", (*live).Find("metadata")->Find("resourceVersion")->string_or("")}};
  meta.Append("finalizers", kept.empty() ? json::Value() : json::Value(std::move(kept)));
  return IgnoreNotFound(ctx_.client().Dynamic(*node.ref).Patch(node.ns, node.name, PatchType::kMerge,
                                                               json::Object{{"metadata", std::move(meta)}}));
}

void Collection::Forget(const std::string& uid) {
  for (std::string& next : graph_.Remove(uid)) look_at_.push_back(std::move(next));
}

}  // namespace flyball::controllers
