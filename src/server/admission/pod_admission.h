// What several plugins about pods share.
#pragma once

#include "server/registry/admission.h"

namespace flyball::server {

// A request that makes a new pod (not one of its subresources).
inline bool CreatesPod(const AdmissionRequest& request) {
  return request.operation == AdmissionRequest::Operation::kCreate && request.subresource.empty() &&
         request.resource.kind->group.empty() && request.resource.kind->plural == "pods" && request.object;
}

// Creates a pod or changes one as a whole.
inline bool WritesPod(const AdmissionRequest& request) {
  const bool writes = request.operation == AdmissionRequest::Operation::kCreate ||
                      request.operation == AdmissionRequest::Operation::kUpdate;
  return writes && request.subresource.empty() && request.resource.kind->group.empty() &&
         request.resource.kind->plural == "pods" && request.object;
}

inline bool Creates(const AdmissionRequest& request, std::string_view group, std::string_view plural) {
  return request.operation == AdmissionRequest::Operation::kCreate && request.subresource.empty() &&
         request.resource.kind->group == group && request.resource.kind->plural == plural && request.object;
}

}  // namespace flyball::server
