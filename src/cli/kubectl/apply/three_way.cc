#include "cli/kubectl/apply/three_way.h"

#include <algorithm>
#include <string>

namespace flyball::cli {
namespace {

using api::FieldInfo;
using api::PatchStrategy;
using api::TypeInfo;

const json::Value kNothing;

bool MergesList(const FieldInfo* field) {
  return field && (field->patch == PatchStrategy::kMerge || field->patch == PatchStrategy::kMergeRetainKeys);
}
bool RetainsKeys(const FieldInfo* field) {
  return field &&
         (field->patch == PatchStrategy::kRetainKeys || field->patch == PatchStrategy::kMergeRetainKeys);
}

json::Array ItemsOf(const json::Value& list) {
  return list.is_array() ? list.as_array() : json::Array();
}
bool Contains(const json::Array& list, const json::Value& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}
const json::Value* FindByKey(const json::Value& list, std::string_view key, const json::Value& value) {
  if (list.is_array())
    for (const json::Value& item : list.as_array())
      if (item[key] == value) return &item;
  return nullptr;
}

json::Value KeysOf(const json::Value& object) {
  json::Array keys;
  for (const auto& member : object.as_object()) keys.emplace_back(member.first);
  std::sort(keys.begin(), keys.end(),
            [](const json::Value& a, const json::Value& b) { return a.as_string() < b.as_string(); });
  return keys;
}

bool HasOtherMembers(const json::Value& object, const json::Value& than) {
  return std::any_of(object.as_object().begin(), object.as_object().end(), [&](const auto& member) {
    return !member.second.is_null() && !than.Find(member.first);
  });
}

json::Value DiffObjects(const TypeInfo* type, bool retain_keys, const json::Value& original,
                        const json::Value& modified, const json::Value& current);

// A list of objects merged by `key`.
void DiffKeyedList(const FieldInfo& field, const std::string& name, const json::Value& original,
                   const json::Value& modified, const json::Value& current, json::Object& patch) {
  const std::string key(field.patch_key);
  const TypeInfo* element = field.type ? field.type->element : nullptr;
  json::Array changes, order;
  for (const json::Value& item : modified.as_array()) {
    json::Object marker;
    marker.Set(key, item[key]);
    order.emplace_back(std::move(marker));
    const json::Value* there = FindByKey(current, key, item[key]);
    if (!there) {
      changes.push_back(item);
      continue;
    }
    const json::Value* before = FindByKey(original, key, item[key]);
    json::Value change = DiffObjects(element, RetainsKeys(&field), before ? *before : kNothing, item, *there);
    if (change.empty()) continue;
    change[key] = item[key];
    changes.push_back(std::move(change));
  }
  for (const json::Value& item : ItemsOf(original)) {
    if (FindByKey(modified, key, item[key]) || !FindByKey(current, key, item[key])) continue;
    json::Object deletion{{"$patch", "delete"}};
    deletion.Set(key, item[key]);
    changes.emplace_back(std::move(deletion));
  }
  if (changes.empty()) return;
  patch.Set("$setElementOrder/" + name, std::move(order));
  patch.Set(name, std::move(changes));
}

// A list of scalars merged as a set.
void DiffSet(const std::string& name, const json::Value& original, const json::Value& modified,
             const json::Value& current, json::Object& patch) {
  const json::Array there = ItemsOf(current);
  json::Array added, deleted;
  for (const json::Value& item : modified.as_array())
    if (!Contains(there, item)) added.push_back(item);
  for (const json::Value& item : ItemsOf(original))
    if (!Contains(modified.as_array(), item) && Contains(there, item)) deleted.push_back(item);
  if (added.empty() && deleted.empty()) return;
  patch.Set("$setElementOrder/" + name, modified);
  if (!added.empty()) patch.Set(name, std::move(added));
  if (!deleted.empty()) patch.Set("$deleteFromPrimitiveList/" + name, std::move(deleted));
}

void DiffMember(const FieldInfo* field, const TypeInfo* type, const std::string& name,
                const json::Value& original, const json::Value& wanted, const json::Value* there,
                json::Object& patch) {
  if (!there) {
    if (!wanted.is_null()) patch.Set(name, wanted);
    return;
  }
  if (wanted == *there) return;
  if (wanted.is_object() && there->is_object()) {
    json::Value change = DiffObjects(type, RetainsKeys(field), original, wanted, *there);
    if (!change.empty()) patch.Set(name, std::move(change));
  } else if (wanted.is_array() && there->is_array() && MergesList(field)) {
    if (field->patch_key.empty())
      DiffSet(name, original, wanted, *there, patch);
    else
      DiffKeyedList(*field, name, original, wanted, *there, patch);
  } else {
    patch.Set(name, wanted);
  }
}

json::Value DiffObjects(const TypeInfo* type, bool retain_keys, const json::Value& original,
                        const json::Value& modified, const json::Value& current) {
  json::Object patch;
  for (const auto& [name, wanted] : modified.as_object()) {
    const FieldInfo* field = type && type->kind == api::TypeKind::kObject ? type->FindField(name) : nullptr;
    const TypeInfo* member_type = field ? field->type : type ? type->element : nullptr;
    DiffMember(field, member_type, name, original[name], wanted, current.Find(name), patch);
  }
  if (original.is_object())
    for (const auto& member : original.as_object())
      if (!modified.Find(member.first) && current.Find(member.first)) patch.Set(member.first, nullptr);
  if (retain_keys && (!patch.empty() || HasOtherMembers(current, modified)))
    patch.Set("$retainKeys", KeysOf(modified));
  return patch;
}

bool IsDirective(const std::string& name) {
  return name.starts_with('$');
}

bool MembersConflict(const FieldInfo* field, const TypeInfo* type, const json::Value& a,
                     const json::Value& b) {
  if (a.is_object() && b.is_object()) return PatchesConflict(type, a, b);
  if (!a.is_array() || !b.is_array() || !MergesList(field)) return !(a == b);
  const std::string key(field->patch_key);
  if (key.empty()) return false;  // sets grow side by side
  const TypeInfo* element = field->type ? field->type->element : nullptr;
  return std::any_of(a.as_array().begin(), a.as_array().end(), [&](const json::Value& item) {
    const json::Value* other = FindByKey(b, key, item[key]);
    return other && PatchesConflict(element, item, *other);
  });
}

}  // namespace

bool PatchesConflict(const TypeInfo* type, const json::Value& a, const json::Value& b) {
  return std::any_of(a.as_object().begin(), a.as_object().end(), [&](const auto& member) {
    const json::Value* other = b.Find(member.first);
    if (!other || IsDirective(member.first)) return false;
    const FieldInfo* field =
        type && type->kind == api::TypeKind::kObject ? type->FindField(member.first) : nullptr;
    return MembersConflict(field,
                           field  ? field->type
                           : type ? type->element
                                  : nullptr,
                           member.second, *other);
  });
}

json::Value ThreeWayPatch(const TypeInfo* type, const json::Value& original, const json::Value& modified,
                          const json::Value& current) {
  return DiffObjects(type, false, original, modified, current);
}

}  // namespace flyball::cli
