// An object and a body, one after the other with a zero byte between: strategic merge, apply and the
// bookkeeping of owners on pods must neither crash nor contradict themselves.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/apply.h"
#include "api/object_fields.h"
#include "api/strategic_merge.h"
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
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  if (cut == std::string_view::npos) return 0;
  const auto live = flyball::json::Parse(text.substr(0, cut));
  const auto patch = flyball::json::Parse(text.substr(cut + 1));
  if (!live || !patch || !live->is_object() || !patch->is_object()) return 0;
  const auto merged = api::StrategicMerge(type, *live, *patch);
  if (merged) CheckUpdate(type, *live, *merged);
  CheckApply(type, *live, *patch);
  return 0;
}
