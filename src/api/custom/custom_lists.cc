#include "api/custom/custom_lists.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "api/rules/format.h"
#include "json/json.h"

namespace flyball::api {

namespace {

using json::Value;

// The keys of a list element, as the object an error shows.
Value KeysOf(const TypeInfo& list, const Value& element) {
  json::Object keys;
  for (const auto key : list.list_keys)
    if (const auto* value = element.Find(key)) keys.Set(key, *value);
  return keys;
}

// The old element with the same keys; null if there is none. Elements of other lists have no identity.
const Value* OldElement(const TypeInfo& list, const Value& element, const Value* old) {
  if (old == nullptr || !old->is_array() || list.list_type != ListType::kMap) return nullptr;
  const auto keys = KeysOf(list, element);
  for (const auto& candidate : old->as_array())
    if (KeysOf(list, candidate) == keys) return &candidate;
  return nullptr;
}

// Embedded resources, and sets and maps without duplicates: two walks over the types, as upstream does.
class TypeWalker {
 public:
  enum class Pass { kEmbedded, kLists };
  TypeWalker(Pass pass, FieldErrors& errors) : pass_(pass), errors_(errors) {}

  void Visit(const TypeInfo& type, const Value& value, const Value* old, const FieldPath& path, bool root) {
    if (old != nullptr && *old == value) return;
    if (pass_ == Pass::kEmbedded && type.embedded_resource && !root) CheckEmbedded(value, path);
    if (type.kind == TypeKind::kList && value.is_array()) {
      if (pass_ == Pass::kLists) CheckDuplicates(type, value.as_array(), path);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const auto& element = value.as_array()[i];
        Visit(*type.element, element, OldElement(type, element, old), path.Index(i), false);
      }
    } else if ((type.kind == TypeKind::kObject || type.kind == TypeKind::kMap) && value.is_object()) {
      VisitMembers(type, value.as_object(), old, path);
    }
  }

 private:
  void VisitMembers(const TypeInfo& type, const json::Object& object, const Value* old,
                    const FieldPath& path) {
    for (const auto& [name, member] : object) {
      const FieldInfo* field = type.FindField(name);
      const TypeInfo* child = field != nullptr              ? field->type
                              : type.kind == TypeKind::kMap ? type.element
                                                            : type.additional;
      if (child == nullptr || child->schema == nullptr) continue;
      const auto here = type.kind == TypeKind::kMap ? path.Key(name) : path.Child(name);
      Visit(*child, member, old != nullptr ? old->Find(name) : nullptr, here, false);
    }
  }

  void CheckEmbedded(const Value& value, const FieldPath& path) {
    if (!value.is_object()) return;
    const auto api_version = value["apiVersion"].string_or(""), kind = value["kind"].string_or("");
    if (api_version.empty()) errors_.Required(path.Child("apiVersion"), "must not be empty");
    if (kind.empty())
      errors_.Required(path.Child("kind"), "must not be empty");
    else
      CheckKind(kind, path);
    if (const auto* metadata = value.Find("metadata"); metadata != nullptr && !metadata->is_object())
      errors_.Invalid(path.Child("metadata"), *metadata, "must be an object");
  }

  void CheckKind(std::string_view kind, const FieldPath& path) {
    std::string lower(kind);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (const auto& problem : Dns1035LabelProblems(lower))
      errors_.Invalid(path.Child("kind"), kind,
                      "may have mixed case, but should otherwise match: " + problem);
  }

  void CheckDuplicates(const TypeInfo& type, const json::Array& elements, const FieldPath& path) {
    if (type.list_type == ListType::kAtomic) return;
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Value identity = type.list_type == ListType::kMap ? KeysOf(type, elements[i]) : elements[i];
      if (!seen.insert(json::Write(identity)).second) errors_.Duplicate(path.Index(i), identity);
    }
  }

  const Pass pass_;
  FieldErrors& errors_;
};

}  // namespace

void ValidateCustomStructure(const CustomSchema& schema, const Value& object, const Value* old,
                             FieldErrors& errors) {
  for (const auto pass : {TypeWalker::Pass::kEmbedded, TypeWalker::Pass::kLists})
    TypeWalker(pass, errors).Visit(schema.type(), object, old, FieldPath(), true);
}

}  // namespace flyball::api
