// The names Go's JSON decoder calls types by in its errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/schema/schema.h"

namespace flyball::api {

// "PodSpec" for io.k8s.api.core.v1.PodSpec.
std::string_view ShortTypeName(const TypeInfo& type);
// "v1.PodSpec", "[]v1.Container", "map[string]string", "int32".
std::string GoTypeName(const TypeInfo& type);
// The same for the value of a field, which may be of a named type the tables do not tell from its base
// ("v1.RestartPolicy").
std::string GoFieldTypeName(const TypeInfo& owner, const FieldInfo& field);
// The same for an element of the field's list or map.
std::string GoElementTypeName(const TypeInfo& owner, const FieldInfo& field);
// The package of upstream's internal types of a group: "core", "rbac", "apps".
std::string GoPackageOf(std::string_view group);
// What stands before the field's name in errors because the field comes from embedded structs:
// "VolumeSource" of Volume.emptyDir. Empty for most.
std::string_view GoEmbeddedIn(const TypeInfo& owner, const FieldInfo& field);

// A field of which Go's names say more than the tables (src/api/schema/groups/go.names).
struct GoNamedField {
  std::string_view type, field;
  std::string_view embedded_in;  // empty: nothing
  std::string_view go_type;      // empty: as the tables say
};
// Sorted by type, then field.
std::span<const GoNamedField> GoNamedFields();

}  // namespace flyball::api
