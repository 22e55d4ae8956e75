#include "api/apply/last_applied.h"

#include <string>
#include <utility>

#include "api/apply/apply_merge.h"
#include "api/apply/object_fields.h"
#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxLastAppliedBytes = 256 << 10;  // upstream: TotalAnnotationSizeLimitB

void SortAllKeys(Value& value, int depth = 0) {
  if (depth > FieldSet::kMaxDepth) return;
  if (value.is_array()) {
    for (Value& item : value.as_array()) SortAllKeys(item, depth + 1);
  } else if (value.is_object()) {
    value.as_object().SortKeys();
    for (auto& [name, member] : value.as_object()) SortAllKeys(member, depth + 1);
  }
}

std::string LastAppliedText(Value configuration) {
  if (Value* annotations = configuration.FindPath({"metadata", "annotations"})) {
    if (annotations->is_object()) annotations->as_object().Erase(kLastAppliedAnnotation);
  }
  SortAllKeys(configuration);
  return GoValueText(configuration) + "\n";
}

std::size_t AnnotationBytes(const json::Object& annotations) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : annotations) bytes += name.size() + value.string_or("").size();
  return bytes;
}

}  // namespace

FieldSet LastAppliedFields(const TypeInfo& type, const Value& object, std::string_view api_version) {
  const std::string_view text = object["metadata"]["annotations"][kLastAppliedAnnotation].string_or("");
  if (text.empty()) return {};
  const auto applied = json::Parse(text);
  if (!applied || (*applied)["apiVersion"].string_or("") != api_version) return {};
  if (!CheckConfiguration(type, *applied)) return {};
  const Comparison differences = Compare(type, *applied, object);
  return FieldsOf(type, *applied)
      .Difference(differences.modified)
      .Difference(differences.added)
      .Difference(differences.removed);
}

void UpdateLastApplied(Value& object, const Value& configuration) {
  Value* annotations = object.FindPath({"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return;
  json::Object& all = annotations->as_object();
  const Value* old = all.Find(kLastAppliedAnnotation);
  if (old == nullptr || old->string_or("").empty()) return;
  all.Set(kLastAppliedAnnotation, LastAppliedText(configuration));
  if (AnnotationBytes(all) > kMaxLastAppliedBytes) all.Erase(kLastAppliedAnnotation);
}

}  // namespace flyball::api
