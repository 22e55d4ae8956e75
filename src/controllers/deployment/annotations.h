// The annotations that a Deployment writes on its ReplicaSets, and the hash in their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/types/apps.h"

namespace flyball::controllers {

inline constexpr char kPodTemplateHash[] = "pod-template-hash";
inline constexpr char kRevision[] = "deployment.kubernetes.io/revision";
inline constexpr char kRevisionHistory[] = "deployment.kubernetes.io/revision-history";
inline constexpr char kDesiredReplicas[] = "deployment.kubernetes.io/desired-replicas";
inline constexpr char kMaxReplicas[] = "deployment.kubernetes.io/max-replicas";
// Requests a rollback to that revision; 0 means the previous one (extensions/v1beta1 had a subresource for
// this).
inline constexpr char kRollbackTo[] = "deprecated.deployment.rollback.to";

// The revision of a ReplicaSet or a Deployment; 0 if it has none.
std::int64_t RevisionOf(const ObjectMeta& meta);
std::optional<std::int64_t> IntAnnotation(const ObjectMeta& meta, const char* name);

// Sets desired-replicas and max-replicas. Returns true if that changed anything.
bool SetReplicasAnnotations(ReplicaSet& rs, int desired, int max);
// Copies the Deployment's annotations and sets the revision, keeping the previous ones in the history.
// Returns true if that changed anything.
bool SetNewAnnotations(const Deployment& deployment, ReplicaSet& rs, std::int64_t revision);

// For a rollback: the Deployment gets the annotations that the ReplicaSet once got from it, instead of its
// own.
void CopyAnnotationsBack(const ReplicaSet& rs, Deployment& deployment);

// Ten characters of the alphabet of generated names, equal for equal templates and collision counts.
std::string TemplateHash(const PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count);

}  // namespace flyball::controllers
