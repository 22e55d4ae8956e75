#include "scheduler/volumes/pod_volumes.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/select/matching.h"
#include "controller/objects/owner.h"

namespace flyball::scheduler {
namespace {

constexpr char kNoVolume[] = "node(s) didn't find available persistent volumes to bind";
constexpr char kWrongNode[] = "node(s) didn't match PersistentVolume's node affinity";
constexpr char kVolumeMissing[] = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
constexpr char kWrongZone[] = "node(s) had no available volume zone";
constexpr char kInUse[] =
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode";
constexpr char kNoProvisioner[] = "kubernetes.io/no-provisioner";
constexpr char kWaits[] = "WaitForFirstConsumer";
constexpr std::array kZoneLabels = {"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
                                    "failure-domain.beta.kubernetes.io/zone",
                                    "failure-domain.beta.kubernetes.io/region"};

Rejection Unresolvable(const char* reason) {
  return {{reason}, true};
}

const std::string* LabelOf(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool MatchesAffinity(const PersistentVolume& volume, const Node& node) {
  const auto& affinity = volume.spec.node_affinity;
  if (!affinity || !affinity->required) return true;
  const auto& terms = affinity->required->node_selector_terms;
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, node); });
}

// Upstream: LabelZonesToSet. A volume may be in several zones.
bool IsAmongZones(const std::string& zones, const std::string& zone) {
  for (std::size_t begin = 0; begin <= zones.size();) {
    const std::size_t end = std::min(zones.find("__", begin), zones.size());
    if (zones.substr(begin, end - begin) == zone) return true;
    begin = end + 2;
  }
  return false;
}

// A node without zones is in all of them.
bool MatchesZones(const PersistentVolume& volume, const Node& node) {
  const Labels& of_node = node.metadata.labels;
  if (std::none_of(kZoneLabels.begin(), kZoneLabels.end(),
                   [&](const char* key) { return of_node.contains(key); }))
    return true;
  return std::all_of(kZoneLabels.begin(), kZoneLabels.end(), [&](const char* key) {
    const std::string* const wanted = LabelOf(volume.metadata.labels, key);
    if (!wanted) return true;
    const std::string* const has = LabelOf(of_node, key);
    return has && IsAmongZones(*wanted, *has);
  });
}

bool MatchesTopology(const TopologySelectorTerm& term, const Node& node) {
  return std::all_of(term.match_label_expressions.begin(), term.match_label_expressions.end(),
                     [&](const TopologySelectorLabelRequirement& wanted) {
                       const std::string* const has = LabelOf(node.metadata.labels, wanted.key);
                       return has && std::find(wanted.values.begin(), wanted.values.end(), *has) !=
                                         wanted.values.end();
                     });
}

std::string SelectedNode(const PersistentVolumeClaim& claim) {
  const auto found = claim.metadata.annotations.find(kSelectedNode);
  return found == claim.metadata.annotations.end() ? std::string() : found->second;
}

bool IsBound(const PersistentVolumeClaim& claim) {
  return !claim.spec.volume_name.empty() && claim.metadata.annotations.contains(kBindCompleted);
}

api::Quantity Wanted(const PersistentVolumeClaim& claim) {
  const auto found = claim.spec.resources.requests.find("storage");
  return found == claim.spec.resources.requests.end() ? api::Quantity(0) : found->second;
}

std::string ClaimName(const Pod& pod, const Volume& volume) {
  if (volume.persistent_volume_claim) return volume.persistent_volume_claim->claim_name;
  return volume.ephemeral ? pod.metadata.name + "-" + volume.name : std::string();
}

}  // namespace

bool UsesClaims(const Pod& pod) {
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(),
                     [](const Volume& volume) { return volume.persistent_volume_claim || volume.ephemeral; });
}

// ---- one pod ----

Rejection PodVolumes::Check(const Node& node) {
  if (in_use_) return {{kInUse}, false};
  if (Rejection bound = CheckBound(node); !bound.ok()) return bound;
  std::vector<VolumeBinding> plan;
  if (!BindWaiting(node, plan)) return Unresolvable(kNoVolume);
  by_node_[node.metadata.name] = std::move(plan);
  return {};
}

Rejection PodVolumes::CheckBound(const Node& node) const {
  if (volume_missing_) return Unresolvable(kVolumeMissing);
  for (const VolumePtr& volume : bound_) {
    if (!MatchesAffinity(*volume, node)) return Unresolvable(kWrongNode);
    if (!MatchesZones(*volume, node)) return Unresolvable(kWrongZone);
  }
  return {};
}

bool PodVolumes::BindWaiting(const Node& node, std::vector<VolumeBinding>& plan) const {
  std::vector<VolumePtr> here;
  for (const VolumePtr& volume : free_)
    if (MatchesAffinity(*volume, node)) here.push_back(volume);
  for (const VolumeClaimPtr& claim : waiting_) {
    // Decided before: the volume is being made there.
    if (const std::string selected = SelectedNode(*claim); !selected.empty()) {
      if (selected != node.metadata.name) return false;
      plan.push_back({claim, nullptr});
      continue;
    }
    const VolumePtr volume = FindVolume(*claim, here, false);
    if (!volume && !CanBeMade(*claim, node)) return false;
    std::erase(here, volume);
    plan.push_back({claim, volume});
  }
  return true;
}

bool PodVolumes::CanBeMade(const PersistentVolumeClaim& claim, const Node& node) const {
  const auto found = classes_.find(ClassOf(claim));
  if (found == classes_.end() || !found->second) return false;
  const StorageClass& kind = *found->second;
  if (kind.provisioner.empty() || kind.provisioner == kNoProvisioner) return false;
  const auto& topologies = kind.allowed_topologies;
  return topologies.empty() ||
         std::any_of(topologies.begin(), topologies.end(),
                     [&](const TopologySelectorTerm& term) { return MatchesTopology(term, node); });
}

std::vector<VolumeBinding> PodVolumes::PlanFor(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? std::vector<VolumeBinding>() : found->second;
}

// ---- all of them ----

VolumeLedger::VolumeLedger(InformerFactory& informers)
    : pods_(informers.For<Pod>().lister()),
      claims_(informers.For<PersistentVolumeClaim>().lister()),
      volumes_(informers.For<PersistentVolume>().lister()),
      classes_(informers.For<StorageClass>().lister()) {}

std::unique_ptr<PodVolumes> VolumeLedger::Begin(const Pod& pod) const {
  if (!UsesClaims(pod)) return nullptr;
  std::unique_ptr<PodVolumes> volumes(new PodVolumes());
  for (const Volume& volume : pod.spec.volumes)
    if (!AddClaim(pod, volume, *volumes)) return volumes;
  std::stable_sort(volumes->waiting_.begin(), volumes->waiting_.end(),
                   [](const VolumeClaimPtr& a, const VolumeClaimPtr& b) { return Wanted(*a) < Wanted(*b); });
  CollectFree(*volumes);
  return volumes;
}

bool VolumeLedger::AddClaim(const Pod& pod, const Volume& volume, PodVolumes& volumes) const {
  const std::string name = ClaimName(pod, volume);
  if (name.empty()) return true;
  const auto refuse = [&](std::string why) {
    volumes.conflict_ = std::move(why);
    return false;
  };
  const VolumeClaimPtr claim = claims_.Get(pod.metadata.namespace_, name);
  const std::string quoted = "persistentvolumeclaim \"" + name + "\"";
  if (!claim && volume.ephemeral)
    return refuse("waiting for ephemeral volume controller to create the " + quoted);
  if (!claim) return refuse(quoted + " not found");
  if (claim->status.phase == "Lost")
    return refuse(quoted + " bound to non-existent persistentvolume \"" + claim->spec.volume_name + "\"");
  if (IsDeleting(claim->metadata)) return refuse(quoted + " is being deleted");
  if (volume.ephemeral && !IsControlledBy(*claim, pod))
    return refuse("PVC " + pod.metadata.namespace_ + "/" + name + " was not created for pod " +
                  pod.metadata.namespace_ + "/" + pod.metadata.name + " (pod is not owner)");
  volumes.in_use_ = volumes.in_use_ || IsUsedElsewhere(pod, *claim);
  if (IsBound(*claim)) {
    const VolumePtr bound = volumes_.Get("", claim->spec.volume_name);
    volumes.volume_missing_ = volumes.volume_missing_ || !bound;
    if (bound) volumes.bound_.push_back(bound);
    return true;
  }
  const auto kind = classes_.Get("", ClassOf(*claim));
  const bool waits = kind && kind->volume_binding_mode.value_or("") == kWaits;
  if (!waits || !claim->spec.volume_name.empty())
    return refuse("pod has unbound immediate PersistentVolumeClaims");
  volumes.classes_[ClassOf(*claim)] = kind;
  volumes.waiting_.push_back(claim);
  return true;
}

// Upstream: ReadWriteOncePod, of VolumeRestrictions.
bool VolumeLedger::IsUsedElsewhere(const Pod& pod, const PersistentVolumeClaim& claim) const {
  const auto& modes = claim.spec.access_modes;
  if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") == modes.end()) return false;
  for (const auto& other : pods_.List(pod.metadata.namespace_)) {
    if (other->metadata.uid == pod.metadata.uid || other->spec.node_name.empty()) continue;
    if (other->status.phase == "Succeeded" || other->status.phase == "Failed") continue;
    for (const Volume& volume : other->spec.volumes)
      if (ClaimName(*other, volume) == claim.metadata.name) return true;
  }
  return false;
}

void VolumeLedger::CollectFree(PodVolumes& volumes) const {
  if (volumes.waiting_.empty()) return;
  std::set<std::string> claims;
  for (const VolumeClaimPtr& claim : volumes.waiting_) claims.insert(claim->metadata.uid);
  for (const VolumePtr& volume : volumes_.List()) {
    if (!volumes.classes_.contains(ClassOf(*volume))) continue;
    const auto promised = promised_.find(volume->metadata.name);
    if (promised == promised_.end() || claims.contains(promised->second)) volumes.free_.push_back(volume);
  }
}

void VolumeLedger::Promise(const std::vector<VolumeBinding>& bindings) {
  for (const VolumeBinding& binding : bindings)
    if (binding.volume) promised_[binding.volume->metadata.name] = binding.claim->metadata.uid;
}

void VolumeLedger::Forget(const std::vector<VolumeBinding>& bindings) {
  for (const VolumeBinding& binding : bindings)
    if (binding.volume) promised_.erase(binding.volume->metadata.name);
}

VolumeLedger::State VolumeLedger::StateOf(const std::vector<VolumeBinding>& bindings,
                                          const std::string& node) const {
  State state{Progress::kBound, ""};
  for (const VolumeBinding& binding : bindings) {
    const ObjectMeta& known = binding.claim->metadata;
    const VolumeClaimPtr claim = claims_.Get(known.namespace_, known.name);
    const std::string name = "PVC \"" + known.namespace_ + "/" + known.name + "\"";
    if (!claim || claim->metadata.uid != known.uid || IsDeleting(claim->metadata))
      return {Progress::kFailed, "claim of " + name + " is gone"};
    if (IsBound(*claim)) continue;
    state.progress = Progress::kUnderWay;
    // Whoever makes the volume has given up on the node; or the cache does not show yet what was written.
    const bool shown = claim->metadata.resource_version != known.resource_version;
    if (!binding.volume && shown && SelectedNode(*claim) != node)
      return {Progress::kFailed, "provisioning failed for " + name};
  }
  return state;
}

}  // namespace flyball::scheduler
