// The names Go's JSON decoder calls types by in its errors.
#pragma once

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

}  // namespace flyball::api
