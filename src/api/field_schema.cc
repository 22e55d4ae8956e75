#include "api/field_schema.h"

#include "api/custom/crd_status.h"

namespace flyball::schema_internal {

json::Value DefinitionMetadata(std::string_view plural, std::string_view group) {
  json::Value metadata;
  metadata["name"] = std::string(plural) + "." + std::string(group);
  if (api::IsProtectedGroup(group))
    metadata["annotations"][api::kApprovalAnnotation] = "unapproved, not part of Kubernetes";
  return metadata;
}

}  // namespace flyball::schema_internal
