#include "controllers/statefulset/statefulset_controller.h"

#include "controller/objects/ownership.h"
#include "controllers/statefulset/statefulset_sync.h"

namespace flyball::controllers {

Status AddStatefulSetController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  FLYBALL_TRY(AddOwnerIndex<ControllerRevision>(manager.informers()));
  const auto sets = manager.informers().For<StatefulSet>().lister();
  return manager.For<StatefulSet>()
      .Named("statefulset-controller")
      .Watches<Pod>([sets](const Pod& pod) { return OwnersOf(sets, pod); })
      .Owns<ControllerRevision>()
      .Uses<PersistentVolumeClaim>()
      .Workers(workers)
      .Reconcile([](const StatefulSet& set, Context& ctx) -> Result<Action> {
        auto result = StatefulSetSync(set, ctx).Run();
        // The set is about to be deleted with its namespace.
        if (!result && result.error().HasCause("NamespaceTerminating")) return Done();
        return result;
      });
}

}  // namespace flyball::controllers
