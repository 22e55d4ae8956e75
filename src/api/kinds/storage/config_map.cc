#include "api/kinds/shared/data_map.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateConfigMap(const Value& object, FieldErrors& errors) {
  const Value& data = object["data"];
  const Value& binary = object["binaryData"];
  std::size_t bytes = 0;
  for (const auto& [key, value] : Entries(data)) {
    const FieldPath path = FieldPath("data").Key(key);
    CheckFormat("config-map-key", key, path, errors);
    if (binary.Find(key) != nullptr) errors.Invalid(path, key, "duplicate of key present in binaryData");
    bytes += value.string_or({}).size();
  }
  for (const auto& [key, value] : Entries(binary)) {
    CheckFormat("config-map-key", key, FieldPath("binaryData").Key(key), errors);
    bytes += DecodedSize(value.string_or({}));
  }
  if (bytes > kMaxDataBytes) errors.TooLong(FieldPath("[]"), kMaxDataBytes);
}

void ValidateConfigMapUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  CheckImmutableData(object, old, {"data", "binaryData"}, errors);
}

}  // namespace

const KindHooks kConfigMapHooks = {
    .group = "",
    .kind = "ConfigMap",
    .validate = ValidateConfigMap,
    .validate_update = ValidateConfigMapUpdate,
};

}  // namespace flyball::api
