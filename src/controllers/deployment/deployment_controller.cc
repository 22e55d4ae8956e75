#include "controllers/deployment/deployment_controller.h"

#include "api/types/apps.h"
#include "api/types/core.h"
#include "controller/objects/ownership.h"
#include "controllers/deployment/deployment_sync.h"

namespace flyball::controllers {
namespace {

// A Deployment with the Recreate strategy waits until its last old pod is gone.
std::vector<ObjectKey> DeploymentsOf(const Lister<Deployment>& deployments,
                                     const Lister<ReplicaSet>& replica_sets, const Pod& pod) {
  const auto owner = ControllerOf(pod);
  if (!owner || owner->kind != "ReplicaSet") return {};
  const auto rs = replica_sets.Get(pod.metadata.namespace_, owner->name);
  if (!rs) return {};
  std::vector<ObjectKey> keys = OwnersOf(deployments, *rs);
  std::erase_if(keys, [&](const ObjectKey& key) {
    const auto deployment = deployments.Get(key);
    return !deployment || deployment->spec.strategy.type != "Recreate";
  });
  return keys;
}

}  // namespace

Status AddDeploymentController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<ReplicaSet>(manager.informers()));
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  const auto deployments = manager.informers().For<Deployment>().lister();
  const auto replica_sets = manager.informers().For<ReplicaSet>().lister();
  const Predicates<Pod> only_deletions{.create = [](const Pod&) { return false; },
                                       .update = [](const Pod&, const Pod&) { return false; },
                                       .remove = nullptr};
  return manager.For<Deployment>()
      .Named("deployment-controller")
      .Watches<ReplicaSet>([deployments](const ReplicaSet& rs) { return OwnersOf(deployments, rs); })
      .Watches<Pod>([=](const Pod& pod) { return DeploymentsOf(deployments, replica_sets, pod); },
                    only_deletions)
      .Workers(workers)
      .Reconcile(
          [](const Deployment& deployment, Context& ctx) { return DeploymentSync(deployment, ctx).Run(); });
}

}  // namespace flyball::controllers
