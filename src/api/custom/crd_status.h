// The status of a CustomResourceDefinition. The API server itself keeps it (upstream: naming, establishing
// and approval controllers inside apiextensions-apiserver): nothing waits for a controller manager. Functions
// only; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// status.storedVersions with the storage version of the spec among them: what create and update must store.
std::vector<std::string> StoredVersions(const json::Value& definition);

// The status of a definition that has just been created: no names accepted yet, only storedVersions.
json::Value InitialDefinitionStatus(const json::Value& definition);

// Brings the status up to date: acceptedNames, the conditions NamesAccepted, Established and, for *.k8s.io
// and *.kubernetes.io, KubernetesAPIApprovalPolicyConformant, storedVersions. `others` are the kinds served
// besides this definition's own, whose names it may not take. `now` is the text of the current time; a
// condition that does not change keeps its lastTransitionTime. True if anything changed.
bool UpdateDefinitionStatus(json::Value& definition, std::span<const KindInfo* const> others,
                            std::string_view now);

bool IsEstablished(const json::Value& definition);

// The condition Terminating of a definition whose objects are being deleted. True if that is news.
bool MarkTerminating(json::Value& definition, std::string_view now);

// Groups of the Kubernetes community, which ask for an approval annotation.
bool IsProtectedGroup(std::string_view group);
inline constexpr std::string_view kApprovalAnnotation = "api-approved.kubernetes.io";

struct Approval {
  enum State { kApproved, kBypassed, kMissing, kMalformed };
  State state;
  std::string message;
};
// What the annotation says.
Approval ApprovalOf(const json::Value& definition);

}  // namespace flyball::api
