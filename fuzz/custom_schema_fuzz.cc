// Custom resources: {"schema": ..., "object": ...}. Any schema is built or refused; pruning and defaulting
// settle (a second time changes nothing), and validation ends.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/custom/crd_validation.h"
#include "api/custom/custom_object.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flyball;
  auto input = json::Parse({reinterpret_cast<const char*>(data), size}, {.max_depth = 300});
  if (!input) return 0;
  const json::Value& given = *input;
  api::FieldErrors errors;
  api::ValidateStructuralSchema(given["schema"], api::FieldPath("schema"), errors);
  auto schema = api::CustomSchema::Build(given["schema"]);
  if (!schema) return 0;
  json::Value object = given["object"];
  api::PruneCustomObject(**schema, object);
  json::Value pruned = object;
  api::PruneCustomObject(**schema, pruned);
  if (!(pruned == object)) std::abort();
  api::DefaultCustomObject(**schema, object);
  json::Value defaulted = object;
  api::DefaultCustomObject(**schema, defaulted);
  if (!(defaulted == object)) std::abort();
  api::ValidateCustomObject(**schema, object, errors);
  return 0;
}
