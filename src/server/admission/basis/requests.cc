#include "server/admission/basis/requests.h"

#include "server/registry/object_codec.h"

namespace flyball::server {

bool ChangesOnlyWhatCollectionNeeds(const AdmissionRequest& request) {
  if (!request.old_object) return false;
  const auto rest = [&](json::Value object) {
    for (const std::string_view member : {"ownerReferences", "finalizers", "managedFields", "selfLink"})
      object["metadata"].as_object().Erase(member);
    CanonicalizeObject(request.resource, object);
    return object;
  };
  return rest(*request.object) == rest(*request.old_object);
}

}  // namespace flyball::server
