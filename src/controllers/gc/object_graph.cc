#include "controllers/gc/object_graph.h"

#include <algorithm>
#include <utility>

namespace flyball::controllers {
namespace {

const OwnerReference* FindOwner(const std::vector<OwnerReference>& owners, const std::string& uid) {
  const auto found = std::find_if(owners.begin(), owners.end(),
                                  [&](const OwnerReference& owner) { return owner.uid == uid; });
  return found == owners.end() ? nullptr : &*found;
}

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The reference names an object that does not have its UID.
bool IsMistaken(const OwnerReference& reference, const GraphNode& dependent, const GraphNode& owner) {
  if (owner.is_virtual()) return false;
  if (reference.name != owner.name || reference.kind != owner.kind) return true;
  return owner.ref->namespaced && owner.ns != dependent.ns;
}

}  // namespace

std::vector<OwnerReference> OwnersIn(const json::Value& object) {
  std::vector<OwnerReference> owners;
  const json::Value& list = object["metadata"]["ownerReferences"];
  if (!list.is_array()) return owners;
  for (const json::Value& item : list.as_array()) {
    OwnerReference owner;
    if (FromJson(item, &owner)) owners.push_back(std::move(owner));
  }
  return owners;
}

std::vector<std::string> FinalizersIn(const json::Value& object) {
  std::vector<std::string> finalizers;
  const json::Value& list = object["metadata"]["finalizers"];
  if (list.is_array())
    for (const json::Value& item : list.as_array()) finalizers.emplace_back(item.string_or(""));
  return finalizers;
}

ObjectGraph::Uids ObjectGraph::Observe(const std::shared_ptr<const KindRef>& kind,
                                       const PartialObject& object) {
  std::vector<OwnerReference> owners = OwnersIn(object.value());
  const std::vector<std::string> finalizers = FinalizersIn(object.value());
  Uids look_at;
  MutexLock lock(mu_);
  Node& node = nodes_[std::string(object.uid())];
  GraphNode& state = node.state;
  const bool waited = state.waits_for_dependents();
  state.ref = kind;
  state.api_version = kind->ApiVersion();
  state.kind = kind->kind;
  state.ns = object.ns();
  state.name = object.name();
  state.uid = object.uid();
  state.deleting = object.deleting();
  state.foreground = Contains(finalizers, kForegroundFinalizer);
  state.orphan = Contains(finalizers, kOrphanFinalizer);
  if (owners != state.owners) ReplaceOwners(node, std::move(owners), look_at);
  if (state.deleting && (state.orphan || state.foreground)) look_at.push_back(state.uid);
  if (!waited && state.waits_for_dependents())
    look_at.insert(look_at.end(), node.dependents.begin(), node.dependents.end());
  return look_at;
}

void ObjectGraph::ReplaceOwners(Node& node, std::vector<OwnerReference> owners, Uids& look_at) {
  const std::vector<OwnerReference> before = std::exchange(node.state.owners, std::move(owners));
  for (const OwnerReference& owner : node.state.owners)
    if (!FindOwner(before, owner.uid)) Link(node, owner, look_at);
  for (const OwnerReference& old : before) {
    const OwnerReference* now = FindOwner(node.state.owners, old.uid);
    if (!now)
      Unlink(node, old.uid, look_at);
    else if (old.block_owner_deletion.value_or(false) && !now->block_owner_deletion.value_or(false))
      look_at.push_back(old.uid);
  }
}

void ObjectGraph::Link(const Node& dependent, const OwnerReference& owner, Uids& look_at) {
  const GraphNode& child = dependent.state;
  const auto [it, is_new] = nodes_.try_emplace(owner.uid);
  Node& target = it->second;
  target.dependents.insert(child.uid);
  if (is_new) {
    target.state.api_version = owner.api_version;
    target.state.kind = owner.kind;
    target.state.name = owner.name;
    target.state.uid = owner.uid;
    target.state.ns = child.ns;
    look_at.push_back(owner.uid);
  } else if (target.state.waits_for_dependents() || IsMistaken(owner, child, target.state)) {
    look_at.push_back(child.uid);
  }
}

void ObjectGraph::Unlink(const Node& dependent, const std::string& owner_uid, Uids& look_at) {
  const auto it = nodes_.find(owner_uid);
  if (it == nodes_.end()) return;
  it->second.dependents.erase(dependent.state.uid);
  if (it->second.state.waits_for_dependents()) look_at.push_back(owner_uid);
  // Nobody refers to it any more, and it was never seen.
  if (it->second.state.is_virtual() && it->second.dependents.empty()) nodes_.erase(it);
}

ObjectGraph::Uids ObjectGraph::Remove(const std::string& uid) {
  Uids look_at;
  MutexLock lock(mu_);
  const auto it = nodes_.find(uid);
  if (it == nodes_.end()) return look_at;
  const Node node = std::move(it->second);
  nodes_.erase(it);
  for (const OwnerReference& owner : node.state.owners) Unlink(node, owner.uid, look_at);
  // They are looked at without the node, because their reference to it dangles.
  look_at.insert(look_at.end(), node.dependents.begin(), node.dependents.end());
  return look_at;
}

std::optional<GraphNode> ObjectGraph::Find(const std::string& uid) const {
  MutexLock lock(mu_);
  const auto it = nodes_.find(uid);
  if (it == nodes_.end()) return std::nullopt;
  return it->second.state;
}

std::vector<GraphNode> ObjectGraph::DependentsOf(const std::string& uid) const {
  std::vector<GraphNode> out;
  MutexLock lock(mu_);
  const auto it = nodes_.find(uid);
  if (it == nodes_.end()) return out;
  for (const std::string& dependent : it->second.dependents)
    if (const auto found = nodes_.find(dependent); found != nodes_.end()) out.push_back(found->second.state);
  return out;
}

bool ObjectGraph::HasDependents(const std::string& uid) const {
  MutexLock lock(mu_);
  const auto it = nodes_.find(uid);
  return it != nodes_.end() && !it->second.dependents.empty();
}

ObjectGraph::Uids ObjectGraph::VirtualNodes() const {
  Uids out;
  MutexLock lock(mu_);
  for (const auto& [uid, node] : nodes_)
    if (node.state.is_virtual()) out.push_back(uid);
  return out;
}

}  // namespace flyball::controllers
