#include "controllers/statefulset/stateful_pods.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "controller/objects/owner.h"
#include "controller/pods/pod_from_template.h"

namespace flyball::controllers {
namespace {

constexpr char kPodIndex[] = "apps.kubernetes.io/pod-index";

std::string PodName(const StatefulSet& set, int ordinal) {
  return set.metadata.name + "-" + std::to_string(ordinal);
}

// Volumes of the claims come first; they replace the template's volumes of the same name.
void AddClaimVolumes(const StatefulSet& set, int ordinal, PodSpec& spec) {
  std::vector<Volume> volumes;
  for (const PersistentVolumeClaim& claim : set.spec.volume_claim_templates) {
    Volume volume;
    volume.name = claim.metadata.name;
    volume.persistent_volume_claim.emplace().claim_name = ClaimName(set, claim, ordinal);
    std::erase_if(spec.volumes, [&](const Volume& known) { return known.name == volume.name; });
    volumes.push_back(std::move(volume));
  }
  std::move(spec.volumes.begin(), spec.volumes.end(), std::back_inserter(volumes));
  spec.volumes = std::move(volumes);
}

bool SetOwner(std::vector<OwnerReference>& owners, const OwnerReference& owner, bool wanted) {
  const auto is = [&](const OwnerReference& known) { return known.uid == owner.uid; };
  const bool has = std::any_of(owners.begin(), owners.end(), is);
  if (has == wanted) return false;
  if (wanted)
    owners.push_back(owner);
  else
    std::erase_if(owners, is);
  return true;
}

}  // namespace

int StartOrdinal(const StatefulSet& set) {
  return set.spec.ordinals ? set.spec.ordinals->start : 0;
}
int StatefulReplicas(const StatefulSet& set) {
  return set.spec.replicas.value_or(1);
}

std::optional<int> OrdinalOf(const StatefulSet& set, const Pod& pod) {
  const std::string& name = pod.metadata.name;
  const std::string prefix = set.metadata.name + "-";
  if (!name.starts_with(prefix)) return std::nullopt;
  int ordinal = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), last, ordinal);
  if (error != std::errc() || end != last || ordinal < 0) return std::nullopt;
  return ordinal;
}

bool IsInRange(const StatefulSet& set, int ordinal) {
  return ordinal >= StartOrdinal(set) && ordinal < StartOrdinal(set) + StatefulReplicas(set);
}

std::string RevisionOfPod(const Pod& pod) {
  const auto found = pod.metadata.labels.find(kRevisionLabel);
  return found == pod.metadata.labels.end() ? "" : found->second;
}

Pod NewStatefulPod(const StatefulSet& set, const PodTemplateSpec& pod_template, int ordinal,
                   const std::string& revision) {
  Pod pod = PodFromTemplate(pod_template, set);
  pod.metadata.name = PodName(set, ordinal);
  pod.metadata.labels[kStatefulPodName] = pod.metadata.name;
  pod.metadata.labels[kPodIndex] = std::to_string(ordinal);
  pod.metadata.labels[kRevisionLabel] = revision;
  pod.spec.hostname = pod.metadata.name;
  pod.spec.subdomain = set.spec.service_name;
  AddClaimVolumes(set, ordinal, pod.spec);
  return pod;
}

std::string ClaimName(const StatefulSet& set, const PersistentVolumeClaim& claim_template, int ordinal) {
  return claim_template.metadata.name + "-" + PodName(set, ordinal);
}

PersistentVolumeClaim NewClaim(const StatefulSet& set, const PersistentVolumeClaim& claim_template,
                               int ordinal) {
  PersistentVolumeClaim claim = claim_template;
  claim.metadata.name = ClaimName(set, claim_template, ordinal);
  claim.metadata.namespace_ = set.metadata.namespace_;
  if (set.spec.selector)
    for (const auto& [key, value] : set.spec.selector->match_labels) claim.metadata.labels[key] = value;
  claim.status = {};
  SetClaimOwners(set, nullptr, ordinal, claim);
  return claim;
}

bool SetClaimOwners(const StatefulSet& set, const Pod* pod, int ordinal, PersistentVolumeClaim& claim) {
  const auto& policy = set.spec.persistent_volume_claim_retention_policy;
  const bool on_delete = policy && policy->when_deleted == "Delete";
  const bool on_scale = policy && policy->when_scaled == "Delete";
  const bool surplus = !IsInRange(set, ordinal);
  bool changed =
      SetOwner(claim.metadata.owner_references, ControllerRefTo(set), on_delete && !(on_scale && surplus));
  if (pod) changed |= SetOwner(claim.metadata.owner_references, ControllerRefTo(*pod), on_scale && surplus);
  return changed;
}

bool IsStale(const PersistentVolumeClaim& claim, const std::string& pod_name, const std::string& pod_uid) {
  return std::any_of(claim.metadata.owner_references.begin(), claim.metadata.owner_references.end(),
                     [&](const OwnerReference& owner) {
                       return owner.kind == "Pod" && owner.name == pod_name && owner.uid != pod_uid;
                     });
}

}  // namespace flyball::controllers
