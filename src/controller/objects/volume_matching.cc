#include "controller/objects/volume_matching.h"

#include <algorithm>

#include "api/select/matching.h"
#include "controller/objects/owner.h"

namespace flyball {
namespace {

constexpr char kClassAnnotation[] = "volume.beta.kubernetes.io/storage-class";

api::Quantity StorageOf(const std::map<std::string, api::Quantity>& amounts) {
  const auto found = amounts.find("storage");
  return found == amounts.end() ? api::Quantity(0) : found->second;
}

bool HasModes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& modes = volume.spec.access_modes;
  return std::all_of(
      claim.spec.access_modes.begin(), claim.spec.access_modes.end(),
      [&](const std::string& mode) { return std::find(modes.begin(), modes.end(), mode) != modes.end(); });
}

bool SameVolumeMode(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.spec.volume_mode.value_or("Filesystem") == claim.spec.volume_mode.value_or("Filesystem");
}

bool SameAttributesClass(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.spec.volume_attributes_class_name.value_or("") ==
         claim.spec.volume_attributes_class_name.value_or("");
}

bool IsLargeEnough(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return !(StorageOf(volume.spec.capacity) < StorageOf(claim.spec.resources.requests));
}

bool IsFreeFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.status.phase == "Available" && !volume.spec.claim_ref && ClassOf(volume) == ClassOf(claim) &&
         (!claim.spec.selector || Matches(*claim.spec.selector, volume.metadata.labels)) &&
         IsLargeEnough(volume, claim);
}

}  // namespace

std::string ClassOf(const PersistentVolumeClaim& claim) {
  const auto annotation = claim.metadata.annotations.find(kClassAnnotation);
  if (annotation != claim.metadata.annotations.end()) return annotation->second;
  return claim.spec.storage_class_name.value_or("");
}

std::string ClassOf(const PersistentVolume& volume) {
  const auto annotation = volume.metadata.annotations.find(kClassAnnotation);
  if (annotation != volume.metadata.annotations.end()) return annotation->second;
  return volume.spec.storage_class_name;
}

bool NamesClass(const PersistentVolumeClaim& claim) {
  return claim.spec.storage_class_name || claim.metadata.annotations.contains(kClassAnnotation);
}

bool IsMeantFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& reference = volume.spec.claim_ref;
  return reference && reference->name == claim.metadata.name &&
         reference->namespace_ == claim.metadata.namespace_ &&
         (reference->uid.empty() || reference->uid == claim.metadata.uid);
}

std::string WhyUnfit(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (!IsLargeEnough(volume, claim)) return "requested PV is too small";
  if (ClassOf(volume) != ClassOf(claim)) return "storageClassName does not match";
  if (!SameAttributesClass(volume, claim)) return "volumeAttributesClassName does not match";
  if (!SameVolumeMode(volume, claim)) return "incompatible volumeMode";
  if (!HasModes(volume, claim)) return "incompatible accessMode";
  return {};
}

VolumePtr FindVolume(const PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                     bool only_reserved) {
  VolumePtr best;
  for (const VolumePtr& volume : volumes) {
    if (!HasModes(*volume, claim) || !SameVolumeMode(*volume, claim) || IsDeleting(volume->metadata))
      continue;
    if (IsMeantFor(*volume, claim)) {
      if (IsLargeEnough(*volume, claim)) return volume;
      continue;
    }
    if (only_reserved || !SameAttributesClass(*volume, claim) || !IsFreeFor(*volume, claim)) continue;
    const auto size = StorageOf(volume->spec.capacity);
    const bool smaller = !best || size < StorageOf(best->spec.capacity);
    const bool first =
        best && size == StorageOf(best->spec.capacity) && volume->metadata.name < best->metadata.name;
    if (smaller || first) best = volume;
  }
  return best;
}

}  // namespace flyball
