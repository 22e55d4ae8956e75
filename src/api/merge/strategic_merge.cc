#include "api/merge/strategic_merge.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/merge/strategic_failure.h"
#include "api/merge/strategic_order.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view kPatchDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder";
constexpr std::string_view kDeleteFromPrimitiveList = "$deleteFromPrimitiveList";

constexpr int kMaxPatchDepth = 500;  // no schema is this deep; deeper patches are attacks on the stack

Unexpected BadPatchType(const Value& directive, const Value& item) {
  return StrategicFailure("unknown patch type: " + GoPrint(directive) + " in map: " + GoPrint(item));
}

Unexpected NotAList(const Value& value) {
  return StrategicFailure("expected a []interface {}, but received a " +
                          std::string(value.is_null() ? "%!s(<nil>)" : GoTypeOf(value)));
}

// What a field's declaration means to a patch.
struct FieldPatch {
  const TypeInfo* type = nullptr;
  bool replace = false;  // the patch's value takes the place of the whole
  bool merge = false;    // lists: item by item
  std::string_view key = {};
};

std::string_view ShortName(const TypeInfo* type) {
  return type == nullptr ? "" : type->name.substr(type->name.rfind('.') + 1);
}

Result<FieldPatch> LookUp(const TypeInfo* type, std::string_view name) {
  if (type != nullptr && type->kind == TypeKind::kMap) return FieldPatch{.type = type->element};
  const FieldInfo* field =
      type != nullptr && type->kind == TypeKind::kObject ? type->FindField(name) : nullptr;
  if (field == nullptr) {
    return StrategicFailure("unable to find api field in struct " + std::string(ShortName(type)) +
                            " for the json field " + GoQuote(name));
  }
  const PatchStrategy strategy = field->patch;
  return FieldPatch{.type = field->type,
                    .replace = strategy == PatchStrategy::kReplace,
                    .merge = strategy == PatchStrategy::kMerge || strategy == PatchStrategy::kMergeRetainKeys,
                    .key = field->patch_key};
}

// "x" of "$setElementOrder/x"; nothing if the name is not of that form.
std::optional<std::string_view> ListNameOf(std::string_view name, std::string_view prefix) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != prefix) return std::nullopt;
  return name.substr(slash + 1);
}

// A copy for where there is nothing to merge with: without nulls if asked, and without whatever has a
// directive. Nothing if the value itself has one.
std::optional<Value> Plain(const Value& value, bool keep_nulls, int depth) {
  if (depth > kMaxPatchDepth) return std::nullopt;
  if (value.is_object()) {
    if (value.Find(kPatchDirective) != nullptr) return std::nullopt;
    Object out;
    for (const auto& [name, member] : value.as_object()) {
      if (member.is_null() && !keep_nulls) continue;
      if (auto plain = Plain(member, keep_nulls, depth + 1)) out.Append(name, std::move(*plain));
    }
    return Value(std::move(out));
  }
  if (value.is_array()) {
    Array out;
    for (const Value& item : value.as_array()) {
      if (auto plain = Plain(item, keep_nulls, depth + 1)) out.push_back(std::move(*plain));
    }
    return Value(std::move(out));
  }
  return value;
}

class Merger {
 public:
  Status MergeObject(const TypeInfo* type, Value& original, const Value& patch);

 private:
  Status ApplyDirective(Value& original, const Value& patch);
  Status RetainKeys(Object& original, const Object& patch);
  Status MergeOrderedLists(const TypeInfo* type, Object& original, const Object& patch);
  Status MergeOrderedList(const TypeInfo* type, Object& original, const Object& patch, std::string_view name,
                          const Value& order);
  // Names of members that are to be erased when the whole object was merged, all at once.
  using Erased = Object;  // its values are of no meaning; its hash is seeded
  Status MergeMember(const TypeInfo* type, Object& original, std::string_view name, const Value& patch,
                     bool delete_items, Erased& erased);
  Status MergeList(const FieldPatch& field, Value& original, const Value& patch, bool delete_items);
  Result<Array> MergeScalars(Array original, const Array& patch, bool delete_items);
  Result<Array> MergeObjects(const FieldPatch& field, Array original, const Array& patch);

  int depth_ = 0;
};

Status Merger::ApplyDirective(Value& original, const Value& patch) {
  const Value& directive = patch[kPatchDirective];
  if (directive == Value("replace")) {
    Value replacement = patch;
    replacement.as_object().Erase(kPatchDirective);
    original = std::move(replacement);
    return {};
  }
  if (directive == Value("delete")) {
    original = Object();
    return {};
  }
  return BadPatchType(directive, patch);
}

Status Merger::RetainKeys(Object& original, const Object& patch) {
  const Value* directive = patch.Find(kRetainKeys);
  if (directive == nullptr) return {};
  const auto malformed = [] { return Unexpected(BadRequest("invalid patch format of retainKeys")); };
  if (!directive->is_array()) return malformed();
  const ValueIndex keys(directive->as_array());
  const auto retained = [&](std::string_view name) { return keys.Find(Value(name)) != ValueIndex::kNone; };
  for (const auto& [name, value] : patch) {
    if (name == kRetainKeys || value.is_null() || name.starts_with(kDeleteFromPrimitiveList) ||
        name.starts_with(kSetElementOrder)) {
      continue;
    }
    if (!retained(name)) return malformed();
  }
  original.EraseIf([&](std::string_view name, const Value&) { return !retained(name); });
  return {};
}

Status Merger::MergeOrderedList(const TypeInfo* type, Object& original, const Object& patch,
                                std::string_view name, const Value& order) {
  Value* live = original.Find(name);
  const Value* patch_list = patch.Find(name);
  if (live != nullptr && !live->is_array()) return NotAList(*live);
  if (patch_list != nullptr && !patch_list->is_array()) return NotAList(*patch_list);
  FLYBALL_ASSIGN(const FieldPatch field, LookUp(type, name));
  const Array none;
  FLYBALL_ASSIGN(const Array keys_before, ItemKeys(live != nullptr ? live->as_array() : none, field.key));
  FLYBALL_TRY(
      CheckElementOrder(patch_list != nullptr ? patch_list->as_array() : none, order.as_array(), field.key));
  if (live == nullptr && patch_list == nullptr) return {};
  Value merged;
  if (live == nullptr) {
    merged = Plain(*patch_list, true, depth_).value_or(Array());
  } else {
    merged = std::move(*live);
    if (patch_list != nullptr) FLYBALL_TRY(MergeList(field, merged, *patch_list, false));
  }
  if (keys_before.empty() && (patch_list == nullptr || patch_list->empty())) {
    return StrategicFailure("no elements in any of the given slices");
  }
  FLYBALL_ASSIGN(Array ordered,
                 OrderItems(std::move(merged.as_array()), order.as_array(), keys_before, field.key));
  original.Set(name, std::move(ordered));
  return {};
}

Status Merger::MergeOrderedLists(const TypeInfo* type, Object& original, const Object& patch) {
  for (const auto& [name, value] : patch) {
    if (!name.starts_with(kSetElementOrder)) continue;
    if (!value.is_array()) return NotAList(value);
    const auto list = ListNameOf(name, kSetElementOrder);
    if (!list) return Unexpected(BadRequest("invalid patch format of setElementOrder list"));
    FLYBALL_TRY(MergeOrderedList(type, original, patch, *list, value));
  }
  return {};
}

Result<Array> Merger::MergeScalars(Array original, const Array& patch, bool delete_items) {
  if (delete_items) {
    const ValueIndex deleted(patch);
    std::erase_if(original, [&](const Value& item) { return deleted.Find(item) != ValueIndex::kNone; });
    return original;
  }
  Array merged;
  ValueIndex places;
  for (const Array* side : {static_cast<const Array*>(&original), &patch}) {
    for (const Value& item : *side) {
      if (places.Add(item, merged.size())) merged.push_back(item);
    }
  }
  return OrderItems(std::move(merged), patch, original, "");
}

Result<Array> Merger::MergeObjects(const FieldPatch& field, Array original, const Array& patch) {
  if (field.key.empty()) return StrategicFailure("cannot merge lists without merge key for struct");
  Array plain;  // the patch's items without directives
  Array deleted;
  bool replace = false;
  for (const Value& item : patch) {
    const Value* directive = item.Find(kPatchDirective);
    if (directive == nullptr) {
      plain.push_back(item);
    } else if (*directive == Value("delete")) {
      const Value* key = item.Find(field.key);
      if (key == nullptr) return NoMergeKey(item, field.key);
      deleted.push_back(*key);
    } else if (*directive == Value("replace")) {
      replace = true;
    } else if (*directive == Value("merge")) {
      return StrategicFailure("merging lists cannot yet be specified in the patch");
    } else {
      return BadPatchType(*directive, item);
    }
  }
  if (!deleted.empty()) {
    const ValueIndex keys(deleted);
    std::erase_if(original, [&](const Value& v) {
      return v.Find(field.key) != nullptr && keys.Find(v[field.key]) != ValueIndex::kNone;
    });
  }
  if (replace) {
    original = std::move(plain);
    plain.clear();
  }
  FLYBALL_ASSIGN(const Array keys_before, ItemKeys(original, field.key));
  ValueIndex places(keys_before);
  Array merged = std::move(original);
  for (const Value& item : plain) {
    const Value* key = item.Find(field.key);
    if (key == nullptr) return NoMergeKey(item, field.key);
    const std::size_t found = places.Find(*key);
    if (found == ValueIndex::kNone) {
      places.Add(*key, merged.size());
      merged.push_back(item);
    } else {
      FLYBALL_TRY(MergeObject(field.type != nullptr ? field.type->element : nullptr, merged[found], item));
    }
  }
  return OrderItems(std::move(merged), plain, keys_before, field.key);
}

Status Merger::MergeList(const FieldPatch& field, Value& original, const Value& patch, bool delete_items) {
  if (!field.merge) {
    original = patch;
    return {};
  }
  if (original.empty() && patch.empty()) return {};
  FLYBALL_ASSIGN(const Value::Kind kind, ItemKind(original.as_array(), patch.as_array()));
  Array items = std::move(original.as_array());
  FLYBALL_ASSIGN(Array merged, kind == Value::Kind::kObject
                                   ? MergeObjects(field, std::move(items), patch.as_array())
                                   : MergeScalars(std::move(items), patch.as_array(), delete_items));
  original = std::move(merged);
  return {};
}

Status Merger::MergeMember(const TypeInfo* type, Object& original, std::string_view name, const Value& patch,
                           bool delete_items, Erased& erased) {
  if (patch.is_null()) {
    erased[name];
    return {};
  }
  Value* live = original.Find(name);
  if (live == nullptr || live->kind() != patch.kind() || !(patch.is_object() || patch.is_array())) {
    if (delete_items) return {};
    if (auto plain = Plain(patch, false, depth_)) {
      original.Set(name, std::move(*plain));
    } else {
      erased[name];
    }
    return {};
  }
  FLYBALL_ASSIGN(const FieldPatch field, LookUp(type, name));
  if (patch.is_array()) return MergeList(field, *live, patch, delete_items);
  if (!field.replace) return MergeObject(field.type, *live, patch);
  *live = patch;
  return {};
}

Status Merger::MergeObject(const TypeInfo* type, Value& original, const Value& patch) {
  if (patch.Find(kPatchDirective) != nullptr) return ApplyDirective(original, patch);
  if (depth_ >= kMaxPatchDepth) return Unexpected(BadRequest("the patch is nested too deeply"));
  ++depth_;
  Object& object = original.as_object();
  const Object& changes = patch.as_object();
  FLYBALL_TRY(RetainKeys(object, changes));
  FLYBALL_TRY(MergeOrderedLists(type, object, changes));
  const bool ordered = std::any_of(changes.begin(), changes.end(),
                                   [](const auto& m) { return m.first.starts_with(kSetElementOrder); });
  Erased erased;
  for (const auto& [name, value] : changes) {
    if (name == kRetainKeys || name.starts_with(kSetElementOrder)) continue;
    if (name.starts_with(kDeleteFromPrimitiveList)) {
      const auto list = ListNameOf(name, kDeleteFromPrimitiveList);
      if (!list) return Unexpected(BadRequest("invalid patch format of primitive list"));
      FLYBALL_TRY(MergeMember(type, object, *list, value, true, erased));
    } else if (!ordered || !changes.contains(std::string(kSetElementOrder).append("/").append(name))) {
      FLYBALL_TRY(MergeMember(type, object, name, value, false, erased));
    }
  }
  if (!erased.empty())
    object.EraseIf([&](std::string_view name, const Value&) { return erased.contains(name); });
  --depth_;
  return {};
}

}  // namespace

Result<Value> StrategicMerge(const TypeInfo& type, Value original, const Value& patch) {
  if (patch.is_null()) return original;
  if (!patch.is_object()) {
    return Unexpected(BadRequest("error decoding patch: json: cannot unmarshal " +
                                 std::string(json::GoKindName(patch)) +
                                 " into Go value of type map[string]interface {}"));
  }
  if (!original.is_object()) original = Object();
  FLYBALL_TRY(Merger().MergeObject(&type, original, patch));
  return original;
}

}  // namespace flyball::api
