#include "api/custom/custom_lists.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "api/rules/format.h"
#include "api/rules/object_meta.h"
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

// Embedded resources, and sets and maps without duplicates: two walks over the types, as upstream does.
class TypeWalker {
 public:
  enum class Pass { kEmbedded, kLists };
  TypeWalker(Pass pass, FieldErrors& errors) : pass_(pass), errors_(errors) {}

  void Visit(const TypeInfo& type, const Value& value, const FieldPath& path, bool root) {
    if (pass_ == Pass::kEmbedded && type.embedded_resource && !root) CheckEmbedded(value, path);
    if (type.kind == TypeKind::kList && value.is_array()) {
      if (pass_ == Pass::kLists) CheckDuplicates(type, value.as_array(), path);
      for (std::size_t i = 0; i < value.size(); ++i) {
        Visit(*type.element, value.as_array()[i], path.Index(i), false);
      }
    } else if ((type.kind == TypeKind::kObject || type.kind == TypeKind::kMap) && value.is_object()) {
      VisitMembers(type, value.as_object(), path);
    }
  }

 private:
  void VisitMembers(const TypeInfo& type, const json::Object& object, const FieldPath& path) {
    for (const auto& [name, member] : object) {
      const FieldInfo* field = type.FindField(name);
      const TypeInfo* child = field != nullptr              ? field->type
                              : type.kind == TypeKind::kMap ? type.element
                                                            : type.additional;
      if (child == nullptr || child->schema == nullptr) continue;
      const auto here = type.kind == TypeKind::kMap ? path.Key(name) : path.Child(name);
      Visit(*child, member, here, false);
    }
  }

  void CheckEmbedded(const Value& value, const FieldPath& path) {
    if (!value.is_object()) return;
    for (const char* member : {"apiVersion", "kind"}) {
      const Value* given = value.Find(member);
      if (given == nullptr)
        errors_.Required(path.Child(member));
      else if (!given->is_string())
        errors_.Invalid(path.Child(member), *given, "must be a string");
      else if (given->as_string().empty())
        errors_.Invalid(path.Child(member), *given, "must not be empty");
      else
        member[0] == 'k' ? CheckKind(given->as_string(), path) : CheckVersion(given->as_string(), path);
    }
    const auto metadata = path.Child("metadata");
    ValidateLabels(value["metadata"]["labels"], metadata.Child("labels"), errors_);
    ValidateAnnotations(value["metadata"]["annotations"], metadata.Child("annotations"), errors_);
  }

  void CheckVersion(std::string_view version, const FieldPath& path) {
    if (std::count(version.begin(), version.end(), '/') > 1)
      errors_.Invalid(path.Child("apiVersion"), version,
                      "unexpected GroupVersion string: " + std::string(version));
  }

  void CheckKind(std::string_view kind, const FieldPath& path) {
    std::string lower(kind);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (const auto& problem : Dns1035LabelProblems(lower))
      errors_.Invalid(path.Child("kind"), kind,
                      "may have mixed case, but should otherwise match: " + problem);
  }

  // Each identity that occurs more than once is reported where it does so first.
  void CheckDuplicates(const TypeInfo& type, const json::Array& elements, const FieldPath& path) {
    if (type.list_type == ListType::kAtomic) return;
    const bool map = type.list_type == ListType::kMap;
    for (std::size_t i = 0; map && i < elements.size(); ++i)
      if (!elements[i].is_null() && !elements[i].is_object())
        return errors_.Invalid(path.Index(i), elements[i], "must be an object for an array of list-type map");
    std::unordered_map<std::string, int> seen;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Value identity = map ? KeysOf(type, elements[i]) : elements[i];
      if (++seen[json::Write(identity)] == 2) errors_.Duplicate(path.Index(i), identity);
    }
  }

  const Pass pass_;
  FieldErrors& errors_;
};

}  // namespace

void ValidateCustomStructure(const CustomSchema& schema, const Value& object, const Value* old,
                             FieldErrors& errors) {
  const auto walk = [&](TypeWalker::Pass pass, const Value& value, FieldErrors& found) {
    TypeWalker(pass, found).Visit(schema.type(), value, FieldPath(), true);
  };
  walk(TypeWalker::Pass::kEmbedded, object, errors);
  // Lists that were wrong before may be so again.
  FieldErrors before;
  if (old != nullptr) walk(TypeWalker::Pass::kLists, *old, before);
  if (before.empty()) walk(TypeWalker::Pass::kLists, object, errors);
}

}  // namespace flyball::api
