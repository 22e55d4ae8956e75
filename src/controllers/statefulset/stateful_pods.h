// The pods of a StatefulSet, each identified by a number, and the claims that stay with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"
#include "api/types/core.h"

namespace flyball::controllers {

using PodPtr = std::shared_ptr<const Pod>;

inline constexpr char kRevisionLabel[] = "controller-revision-hash";
inline constexpr char kStatefulPodName[] = "statefulset.kubernetes.io/pod-name";

int StartOrdinal(const StatefulSet& set);
int StatefulReplicas(const StatefulSet& set);
// Nothing if the name does not belong to a pod of the set.
std::optional<int> OrdinalOf(const StatefulSet& set, const Pod& pod);
bool IsInRange(const StatefulSet& set, int ordinal);
std::string RevisionOfPod(const Pod& pod);

// One pod of the set, made from `pod_template`, with its name, host name and volumes.
Pod NewStatefulPod(const StatefulSet& set, const PodTemplateSpec& pod_template, int ordinal,
                   const std::string& revision);

std::string ClaimName(const StatefulSet& set, const PersistentVolumeClaim& claim_template, int ordinal);
PersistentVolumeClaim NewClaim(const StatefulSet& set, const PersistentVolumeClaim& claim_template,
                               int ordinal);
// Sets the owners of a claim as the retention policy says: the set, the pod `pod` (null if there is none),
// both or none. Returns true if its owner references changed.
bool SetClaimOwners(const StatefulSet& set, const Pod* pod, int ordinal, PersistentVolumeClaim& claim);
// True if the claim belongs to an earlier pod of that name and is about to be deleted with it.
bool IsStale(const PersistentVolumeClaim& claim, const std::string& pod_name, const std::string& pod_uid);

}  // namespace flyball::controllers
