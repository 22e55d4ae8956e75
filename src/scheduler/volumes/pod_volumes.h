// PodVolumes: the persistent volume claims of one pod while it is being placed. VolumeLedger: what the
// scheduler knows of claims and volumes, with the bindings it has decided on but that the API does not show
// yet (upstream: VolumeBinding and its assume cache, VolumeZone, VolumeRestrictions).
//
// A claim is bound; or it is to be bound at once, which the volume binder does without regard to pods; or its
// class waits for the first pod: then the node is chosen first, and a volume that fits the node is taken or
// asked for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "controller/objects/volume_matching.h"
#include "informer/informer_factory.h"
#include "scheduler/filter/filters.h"

namespace flyball::scheduler {

using VolumeClaimPtr = std::shared_ptr<const PersistentVolumeClaim>;

// What placing a pod on a node means for one of its claims.
struct VolumeBinding {
  VolumeClaimPtr claim;
  VolumePtr volume;  // the claim's from now on; null: one is to be made for the node
};

// Confined to one attempt.
class PodVolumes {
 public:
  // Why no node can help; "" if one may.
  const std::string& conflict() const { return conflict_; }

  // Whether the volumes can be had on the node. Remembers how.
  Rejection Check(const Node& node);
  // What to write if the pod goes to the node. Requires that Check found it feasible.
  std::vector<VolumeBinding> PlanFor(const std::string& node) const;

 private:
  friend class VolumeLedger;
  PodVolumes() = default;

  Rejection CheckBound(const Node& node) const;
  // A free volume for each claim, the smallest claim first; those that are left may be made on the node.
  bool BindWaiting(const Node& node, std::vector<VolumeBinding>& plan) const;
  bool CanBeMade(const PersistentVolumeClaim& claim, const Node& node) const;

  std::string conflict_;
  bool in_use_ = false;           // a claim that one pod may use has another one
  bool volume_missing_ = false;   // a claim is bound to a volume that is not there
  std::vector<VolumePtr> bound_;  // volumes of claims that have one
  std::vector<VolumeClaimPtr> waiting_;
  std::vector<VolumePtr> free_;  // of the classes of those
  std::map<std::string, std::shared_ptr<const StorageClass>> classes_;
  std::map<std::string, std::vector<VolumeBinding>> by_node_;
};

// Whether the pod has volumes that are claims.
bool UsesClaims(const Pod& pod);

// Confined to the scheduler's strand.
class VolumeLedger {
 public:
  explicit VolumeLedger(InformerFactory& informers);

  // Null if the pod has no claims.
  std::unique_ptr<PodVolumes> Begin(const Pod& pod) const;

  // The volumes are taken from now on, until Forget.
  void Promise(const std::vector<VolumeBinding>& bindings);
  void Forget(const std::vector<VolumeBinding>& bindings);

  // How far bindings are that have been written.
  enum class Progress { kBound, kUnderWay, kFailed };
  struct State {
    Progress progress = Progress::kUnderWay;
    std::string why;  // kFailed
  };
  State StateOf(const std::vector<VolumeBinding>& bindings, const std::string& node) const;

 private:
  // False if no node can help.
  bool AddClaim(const Pod& pod, const Volume& volume, PodVolumes& volumes) const;
  bool IsUsedElsewhere(const Pod& pod, const PersistentVolumeClaim& claim) const;
  void CollectFree(PodVolumes& volumes) const;

  const Lister<Pod> pods_;
  const Lister<PersistentVolumeClaim> claims_;
  const Lister<PersistentVolume> volumes_;
  const Lister<StorageClass> classes_;
  std::map<std::string, std::string> promised_;  // volumes, and the UID of whose claim
};

}  // namespace flyball::scheduler
