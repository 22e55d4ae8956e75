#include "api/kinds/shared/data_map.h"

#include "api/rules/access.h"

namespace flyball::api {

using json::Value;

std::size_t DecodedSize(std::string_view base64) {
  std::size_t padding = 0;
  while (padding < 2 && padding < base64.size() && base64[base64.size() - 1 - padding] == '=') ++padding;
  return base64.size() / 4 * 3 - (base64.size() >= 4 ? padding : 0);
}

void CheckImmutableData(const Value& object, const Value& old, std::initializer_list<const char*> members,
                        FieldErrors& errors) {
  constexpr std::string_view kFixed = "field is immutable when `immutable` is set";
  if (!old["immutable"].bool_or(false)) return;
  if (!object["immutable"].bool_or(false)) errors.Forbidden(FieldPath("immutable"), kFixed);
  for (const char* member : members) {
    const bool same = object[member] == old[member] || (IsZero(object[member]) && IsZero(old[member]));
    if (!same) errors.Forbidden(FieldPath(member), kFixed);
  }
}

}  // namespace flyball::api
