// The input is an array [pod, body]: strategic merge, apply and the bookkeeping of owners must neither crash
// nor contradict themselves.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/apply/apply.h"
#include "api/apply/object_fields.h"
#include "api/merge/strategic_merge.h"
#include "json/json.h"

namespace {

using flyball::TimePoint;
using flyball::json::Value;
namespace api = flyball::api;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckApply(const api::TypeInfo& type, const Value& live, Value config) {
  const api::FieldWriter writer{
      .manager = "fuzz", .subresource = "", .api_version = "v1", .now = TimePoint{}};
  config["apiVersion"] = "v1";
  config["kind"] = "Pod";
  const auto applied = api::Apply(type, "Pod", &live, config, writer, true);
  if (!applied) return;
  const auto again = api::Apply(type, "Pod", &applied->object, config, writer, false);
  Require(again &&
          !again->changed);  // applying what is there already conflicts with nobody and changes nothing
}

bool IsObjectOrNull(const Value& value) {
  return value.is_null() || value.is_object();
}

void CheckUpdate(const api::TypeInfo& type, const Value& live, Value object) {
  const api::FieldWriter writer{
      .manager = "fuzz", .subresource = "", .api_version = "v1", .now = TimePoint{}};
  Require(api::Compare(type, live, live).empty());
  api::UpdateManagedFields(type, nullptr, object, writer);
  api::UpdateManagedFields(type, &live, object, writer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const api::TypeInfo& type = *api::FindBuiltinKind("", "v1", "Pod")->type;
  const auto input = flyball::json::Parse({reinterpret_cast<const char*>(data), size});
  if (!input || !input->is_array() || input->size() != 2) return 0;
  const Value& live = input->as_array()[0];
  const Value& body = input->as_array()[1];
  if (!live.is_object() || !body.is_object()) return 0;
  const auto merged = api::StrategicMerge(type, live, body);
  // What has another form is refused by then: an object is decoded before its fields get owners.
  if (merged && IsObjectOrNull((*merged)["metadata"])) CheckUpdate(type, live, *merged);
  CheckApply(type, live, body);
  return 0;
}
