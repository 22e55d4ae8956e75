#include "controllers/deployment/deployment_controller.h"

#include "api/matching.h"
#include "api/types/apps.h"
#include "api/types/core.h"
#include "controllers/deployment/deployment_sync.h"
#include "controllers/objects/owner_index.h"

namespace flyball::controllers {
namespace {

std::vector<ObjectKey> DeploymentsOf(const Lister<Deployment>& deployments, const ReplicaSet& rs) {
  if (const auto owner = ControllerOf(rs)) {
    if (owner->kind != "Deployment") return {};
    return {ObjectKey{rs.metadata.namespace_, std::string(owner->name)}};
  }
  std::vector<ObjectKey> keys;
  for (const auto& deployment : deployments.List(rs.metadata.namespace_))
    if (deployment->spec.selector && Matches(*deployment->spec.selector, rs.metadata.labels))
      keys.push_back({deployment->metadata.namespace_, deployment->metadata.name});
  return keys;
}

// A Deployment that recreates waits for its last old pod to be gone.
std::vector<ObjectKey> DeploymentsOf(const Lister<Deployment>& deployments,
                                     const Lister<ReplicaSet>& replica_sets, const Pod& pod) {
  const auto owner = ControllerOf(pod);
  if (!owner || owner->kind != "ReplicaSet") return {};
  const auto rs = replica_sets.Get(pod.metadata.namespace_, owner->name);
  if (!rs) return {};
  std::vector<ObjectKey> keys = DeploymentsOf(deployments, *rs);
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
      .Watches<ReplicaSet>([deployments](const ReplicaSet& rs) { return DeploymentsOf(deployments, rs); })
      .Watches<Pod>([=](const Pod& pod) { return DeploymentsOf(deployments, replica_sets, pod); },
                    only_deletions)
      .Workers(workers)
      .Reconcile(
          [](const Deployment& deployment, Context& ctx) { return DeploymentSync(deployment, ctx).Run(); });
}

}  // namespace flyball::controllers
