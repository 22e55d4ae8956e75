// Which PersistentVolume is for which claim (upstream: volume.FindMatchingVolume). Pure functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball {

inline constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";
inline constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";
inline constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
inline constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";

using VolumePtr = std::shared_ptr<const PersistentVolume>;

// The class, by the field or by the annotation that was there before it; "" if there is none.
std::string ClassOf(const PersistentVolumeClaim& claim);
std::string ClassOf(const PersistentVolume& volume);
// Whether the claim says anything of a class; one that does not gets the default class.
bool NamesClass(const PersistentVolumeClaim& claim);

// The volume is reserved for the claim, or bound to it: not to another one of the same name.
bool IsMeantFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// Why the claim cannot have the volume it asks for by name; "" if it can.
std::string WhyUnfit(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// The one that is reserved for the claim, or the smallest that is free and fits; null if there is none.
// `only_reserved`: binding waits for a pod.
VolumePtr FindVolume(const PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                     bool only_reserved);

}  // namespace flyball
