#include "controllers/statefulset/statefulset_controller.h"

#include "api/matching.h"
#include "controllers/objects/owner_index.h"
#include "controllers/statefulset/statefulset_sync.h"

namespace flyball::controllers {
namespace {

// The set that controls a pod; of an orphan, those that may adopt it.
std::vector<ObjectKey> StatefulSetsOf(const Lister<StatefulSet>& sets, const Pod& pod) {
  const std::string& ns = pod.metadata.namespace_;
  if (const auto owner = ControllerOf(pod)) {
    if (owner->kind != "StatefulSet") return {};
    return {ObjectKey{ns, std::string(owner->name)}};
  }
  std::vector<ObjectKey> keys;
  for (const auto& set : sets.List(ns))
    if (set->spec.selector && Matches(*set->spec.selector, pod.metadata.labels))
      keys.push_back({ns, set->metadata.name});
  return keys;
}

}  // namespace

Status AddStatefulSetController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  FLYBALL_TRY(AddOwnerIndex<ControllerRevision>(manager.informers()));
  const auto sets = manager.informers().For<StatefulSet>().lister();
  return manager.For<StatefulSet>()
      .Named("statefulset-controller")
      .Watches<Pod>([sets](const Pod& pod) { return StatefulSetsOf(sets, pod); })
      .Owns<ControllerRevision>()
      .Uses<PersistentVolumeClaim>()
      .Workers(workers)
      .Reconcile([](const StatefulSet& set, Context& ctx) -> Result<Action> {
        auto result = StatefulSetSync(set, ctx).Run();
        // The set is about to go with its namespace.
        if (!result && result.error().HasCause("NamespaceTerminating")) return Done();
        return result;
      });
}

}  // namespace flyball::controllers
