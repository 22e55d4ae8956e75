// What several plugins ask about a request.
#pragma once

#include "server/registry/admission.h"

namespace flyball::server {

inline bool IsAbout(const AdmissionRequest& request, std::string_view group, std::string_view plural) {
  return request.resource.kind->group == group && request.resource.kind->plural == plural;
}

inline bool IsAboutPods(const AdmissionRequest& request) {
  return IsAbout(request, "", "pods");
}

inline bool Creates(const AdmissionRequest& request, std::string_view group, std::string_view plural) {
  return request.operation == AdmissionRequest::Operation::kCreate && request.subresource.empty() &&
         IsAbout(request, group, plural) && request.object;
}

// A request that makes a new pod (not one of its subresources).
inline bool CreatesPod(const AdmissionRequest& request) {
  return Creates(request, "", "pods");
}

// A request that makes or changes an object (or one of its subresources).
inline bool Writes(const AdmissionRequest& request) {
  using Operation = AdmissionRequest::Operation;
  return request.object &&
         (request.operation == Operation::kCreate || request.operation == Operation::kUpdate);
}

// A request that makes or changes a pod (not one of its subresources).
inline bool WritesPod(const AdmissionRequest& request) {
  return Writes(request) && request.subresource.empty() && IsAboutPods(request);
}

// An update of owners and finalizers alone, which garbage collection needs and which grants nothing
// (upstream: IsOnlyMutatingGCFields).
bool ChangesOnlyWhatCollectionNeeds(const AdmissionRequest& request);

// A refusal that upstream's plugin returns as a plain error: the client sees 500 and the bare text.
inline Error PlainError(std::string text) {
  return Error(Reason::kUnknown, 500, std::move(text));
}

}  // namespace flyball::server
