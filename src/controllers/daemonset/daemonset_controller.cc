#include "controllers/daemonset/daemonset_controller.h"

#include <memory>

#include "controller/objects/ownership.h"
#include "controllers/daemonset/daemonset_sync.h"

namespace flyball::controllers {
namespace {

// Ignores what a node reports about itself every few seconds.
Predicates<Node> PlaceOfNodeChanged() {
  Predicates<Node> predicates;
  predicates.update = [](const Node& before, const Node& now) {
    return before.metadata.labels != now.metadata.labels || before.spec != now.spec;
  };
  return predicates;
}

}  // namespace

Status AddDaemonSetController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  FLYBALL_TRY(AddOwnerIndex<ControllerRevision>(manager.informers()));
  const auto sets = manager.informers().For<DaemonSet>().lister();
  const auto backoff = std::make_shared<FailedPodBackoff>();
  return manager.For<DaemonSet>()
      .Named("daemonset-controller")
      .Watches<Pod>([sets](const Pod& pod) { return OwnersOf(sets, pod); })
      .Watches<Node>(
          [sets](const Node&) {
            std::vector<ObjectKey> keys;
            for (const auto& set : sets.List())
              keys.push_back({set->metadata.namespace_, set->metadata.name});
            return keys;
          },
          PlaceOfNodeChanged())
      .Owns<ControllerRevision>()
      .Workers(workers)
      .Reconcile([backoff](const DaemonSet& set, Context& ctx) -> Result<Action> {
        auto result = DaemonSetSync(set, *backoff, ctx).Run();
        // The set is about to be deleted with its namespace.
        if (!result && result.error().HasCause("NamespaceTerminating")) return Done();
        return result;
      });
}

}  // namespace flyball::controllers
