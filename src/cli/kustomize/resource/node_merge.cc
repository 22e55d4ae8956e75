#include "cli/kustomize/resource/node_merge.h"

#include <set>
#include <string>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/field_spec.h"
#include "cli/kustomize/resource/list_merge.h"
#include "cli/kustomize/resource/resource.h"

namespace flyball::cli::kustomize {
namespace {

constexpr const char* kDirective = "$patch";

enum class Directive { kMerge, kReplace, kDelete };

Result<Directive> DirectiveNamed(const json::Value& name) {
  const std::string text = ScalarText(name);
  if (text == "merge") return Directive::kMerge;
  if (text == "replace") return Directive::kReplace;
  if (text == "delete") return Directive::kDelete;
  return Fail("unknown patch strategy '" + text + "'");
}

// Takes the directive out of the patch.
Result<Directive> TakeDirective(json::Value* patch) {
  if (patch == nullptr || !patch->is_object()) return Directive::kMerge;
  const json::Value* found = patch->Find(kDirective);
  if (found == nullptr) return Directive::kMerge;
  FLYBALL_ASSIGN(const Directive directive, DirectiveNamed(*found));
  patch->as_object().Erase(kDirective);
  return directive;
}

// Of a list, it stands in an item of its own.
Result<Directive> TakeListDirective(json::Array& patch) {
  for (const json::Value& item : patch) {
    const json::Value* found = item.Find(kDirective);
    if (found == nullptr) continue;
    if (item.size() > 1) return Directive::kMerge;
    const json::Value name = *found;
    FLYBALL_ASSIGN(const Directive directive, DirectiveNamed(name));
    std::erase_if(patch, [&](const json::Value& other) {
      const json::Value* value = other.Find(kDirective);
      return value != nullptr && *value == name;
    });
    return directive;
  }
  return Directive::kMerge;
}

bool IsMissing(const json::Value* value) {
  return value == nullptr || value->is_null();
}

NodeType MemberType(const NodeType& type, const std::string& key) {
  if (type.type == nullptr) return {};
  if (const api::FieldInfo* field = type.type->FindField(key)) return {field->type, field};
  return {type.type->kind == api::TypeKind::kMap ? type.type->element : nullptr, nullptr};
}

// The type of an object that says what it is, if nothing else does.
NodeType TypeOf(const NodeType& known, const json::Value* dest, const json::Value* patch) {
  if (known.type != nullptr) return known;
  for (const json::Value* node : {dest, patch}) {
    if (node == nullptr || !node->is_object()) continue;
    const Gvk gvk = GvkOf((*node)["apiVersion"].string_or(""), (*node)["kind"].string_or(""));
    const api::TypeInfo* type = api::FindKindType(gvk.group, gvk.version, gvk.kind);
    if (type != nullptr) return {type, nullptr};
  }
  return known;
}

Status MergeMembers(json::Value& dest, json::Value* patch, const NodeType& type) {
  std::set<std::string> keys;
  for (const json::Value* node :
       {const_cast<const json::Value*>(&dest), const_cast<const json::Value*>(patch)})
    if (node != nullptr && node->is_object())
      for (const auto& [key, value] : node->as_object()) keys.insert(key);
  for (const std::string& key : keys) {
    FLYBALL_ASSIGN(Merged merged, MergeNodes(dest.Find(key), patch == nullptr ? nullptr : patch->Find(key),
                                             MemberType(type, key)));
    if (merged.outcome == Merged::kGone) dest.as_object().Erase(key);
    if (merged.outcome == Merged::kNew) dest[key] = std::move(merged.value);
  }
  return {};
}

// A map that takes the place of what was there is a copy of the patch, merged with the patch itself: that
// takes nulls and directives out of it.
Result<Merged> MapFromPatch(json::Value& patch, const NodeType& type) {
  Merged merged{Merged::kNew, patch};
  FLYBALL_TRY(MergeMembers(merged.value, &patch, type));
  return merged;
}

Result<Merged> MergeMaps(json::Value* dest, json::Value* patch, const NodeType& type) {
  if (IsMissing(dest)) {
    if (patch == nullptr) return Merged{dest == nullptr ? Merged::kGone : Merged::kSame, {}};
    if (patch->is_null()) return Merged{Merged::kGone, {}};
    FLYBALL_ASSIGN(const Directive directive, TakeDirective(patch));
    if (directive == Directive::kDelete) return Merged{Merged::kGone, {}};
    return MapFromPatch(*patch, type);
  }
  if (patch != nullptr && patch->is_null()) return Merged{Merged::kGone, {}};
  FLYBALL_ASSIGN(const Directive directive, TakeDirective(patch));
  // It is there too if `dest` is a copy of the patch.
  dest->as_object().Erase(kDirective);
  if (directive == Directive::kDelete) return Merged{Merged::kGone, {}};
  if (directive == Directive::kReplace) return MapFromPatch(*patch, type);
  FLYBALL_TRY(MergeMembers(*dest, patch, type));
  return Merged{Merged::kSame, {}};
}

Result<Merged> ListFromPatch(json::Value& patch, const NodeType& type) {
  Merged merged{Merged::kNew, patch};
  FLYBALL_TRY(MergeItems(merged.value.as_array(), &patch.as_array(), type));
  return merged;
}

Result<Merged> MergeLists(json::Value* dest, json::Value* patch, const NodeType& type) {
  if (patch != nullptr && patch->is_null()) return Merged{Merged::kGone, {}};
  if (!type.IsMergedList())
    return patch == nullptr ? Merged{Merged::kSame, {}} : Merged{Merged::kNew, *patch};
  if (IsMissing(dest)) return ListFromPatch(*patch, type);
  Directive directive = Directive::kMerge;
  if (patch != nullptr) {
    FLYBALL_ASSIGN(directive, TakeListDirective(patch->as_array()));
    FLYBALL_TRY(TakeListDirective(dest->as_array()));
  }
  if (directive == Directive::kDelete) return Merged{Merged::kGone, {}};
  if (directive == Directive::kReplace) return ListFromPatch(*patch, type);
  FLYBALL_TRY(MergeItems(dest->as_array(), patch == nullptr ? nullptr : &patch->as_array(), type));
  return Merged{Merged::kSame, {}};
}

}  // namespace

bool NodeType::IsMergedList() const {
  return field != nullptr &&
         (field->patch == api::PatchStrategy::kMerge || field->patch == api::PatchStrategy::kMergeRetainKeys);
}

Result<Merged> MergeNodes(json::Value* dest, json::Value* patch, const NodeType& known) {
  const json::Value* first = IsMissing(dest) ? patch : dest;
  if (!IsMissing(dest) && !IsMissing(patch) && NodeKindName(*dest) != NodeKindName(*patch))
    return Fail(WrongKindText(NodeKindName(*dest), *patch));
  const NodeType type = TypeOf(known, dest, patch);
  if (IsMissing(first) || first->is_object()) return MergeMaps(dest, patch, type);
  if (first->is_array()) return MergeLists(dest, patch, type);
  if (patch == nullptr) return Merged{Merged::kSame, {}};
  return Merged{patch->is_null() ? Merged::kGone : Merged::kNew, *patch};
}

Result<bool> MergePatch(json::Value& object, json::Value patch) {
  FLYBALL_ASSIGN(Merged merged, MergeNodes(&object, &patch, {}));
  if (merged.outcome == Merged::kNew) object = std::move(merged.value);
  return merged.outcome != Merged::kGone;
}

}  // namespace flyball::cli::kustomize
