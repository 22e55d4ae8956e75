// Collection: what the garbage collector does to one object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/objects/served_kinds.h"
#include "controller/worker/controller.h"
#include "controllers/gc/object_graph.h"

namespace flyball::controllers {

// Confined to one reconcile. `look_at` receives the objects to look at next.
class Collection {
 public:
  Collection(ObjectGraph& graph, ServedKinds& kinds, Context& ctx, ObjectGraph::Uids& look_at)
      : graph_(graph), kinds_(kinds), ctx_(ctx), look_at_(look_at) {}

  Result<Action> Run(const std::string& uid);

 private:
  // The owners of an object, sorted into those that exist, those that do not, and those that are being
  // deleted in the foreground and wait for it.
  struct Owners {
    std::vector<OwnerReference> solid, dangling, waiting;
    // A cluster-scoped object that refers to a namespaced owner: which one is meant is unknown.
    bool unresolvable = false;
  };

  Result<Action> VerifyVirtual(const GraphNode& node);
  Result<Action> OrphanDependents(const GraphNode& node);
  Result<Action> FinishForeground(const GraphNode& node);
  Result<Action> Collect(const GraphNode& node);
  Result<Action> Decide(const GraphNode& node, const json::Value& live, const Owners& owners);

  Result<Owners> Classify(const GraphNode& node, const std::vector<OwnerReference>& references);
  enum class OwnerState { kSolid, kDangling, kWaiting, kUnresolvable };
  Result<OwnerState> StateOf(const GraphNode& node, const OwnerReference& reference);
  void ReportWrongNamespace(const GraphNode& node, const OwnerReference& reference);

  // The current object; nothing if it is gone or another object has its name.
  Result<std::optional<json::Value>> Read(const KindRef& kind, std::string_view ns, std::string_view name,
                                          std::string_view uid);
  Status WriteOwners(const GraphNode& node, const json::Value& live,
                     const std::vector<OwnerReference>& owners);
  Status DropFinalizerOf(const GraphNode& node, const char* finalizer);
  void Forget(const std::string& uid);

  ObjectGraph& graph_;
  ServedKinds& kinds_;
  Context& ctx_;
  ObjectGraph::Uids& look_at_;
};

}  // namespace flyball::controllers
