// The rules of structural schemas (upstream: apiserver/schema and its defaulting).
#include <algorithm>
#include <string>
#include <vector>

#include "api/custom/crd_validation.h"
#include "api/custom/custom_object.h"
#include "api/custom/custom_schema.h"
#include "api/custom/open_api_schema.h"
#include "api/custom/rule_problems.h"
#include "api/custom/schema_node.h"
#include "api/schema/zero_value.h"
#include "cel/rules/validator.h"

namespace flyball::api {

namespace {

using json::Value;

enum class Level { kRoot, kField, kItem };

std::string_view MissingType(Level level) {
  if (level == Level::kRoot) return "must not be empty at the root";
  if (level == Level::kItem) return "must not be empty for specified array items";
  return "must not be empty for specified object fields";
}

// anyOf: [{type: integer}, {type: string}], which says again what x-kubernetes-int-or-string says.
bool SaysIntOrString(const Value& branches) {
  if (branches.size() != 2 || !branches.is_array()) return false;
  const auto only_type = [](const Value& node, std::string_view type) {
    return node.is_object() && node.size() == 1 && TypeOf(node) == type;
  };
  return only_type(branches.as_array()[0], "integer") && only_type(branches.as_array()[1], "string");
}

class StructuralValidator {
 public:
  explicit StructuralValidator(FieldErrors& errors) : errors_(errors) {}

  void Visit(const Value& node, const FieldPath& path, Level level) {
    // Upstream's type of items takes any other value for nothing.
    const Value& items = node["items"];
    if (TypeOf(node) == "array" && !items.is_object() && !items.is_array())
      errors_.Required(path.Child("items"), "must be specified");
    VisitChildren(node, path, level);
    CheckIntOrString(node, path);
    CheckBranches(node, path, true);
    CheckPattern(node, path);
    CheckType(node, path, level);
    CheckMeta(node, path, level);
  }

  // What is restricted below allOf and its like must be specified outside; `outside` is null if it is not.
  void CheckComplete(const Value& node, const Value* outside, const FieldPath& path,
                     const FieldPath& outside_path) {
    if (outside == nullptr) return errors_.Required(outside_path, "because it is defined in " + path.text());
    CheckBranchesComplete(node, outside, path, outside_path);
    if (node["items"].is_object())
      CheckComplete(node["items"], outside->Find("items"), path.Child("items"), outside_path.Child("items"));
    if (!node["properties"].is_object()) return;
    for (const auto& [name, child] : node["properties"].as_object())
      CheckComplete(child, (*outside)["properties"].Find(name), path.Child("properties").Key(name),
                    outside_path.Child("properties").Key(name));
  }

  void CheckBranchesComplete(const Value& node, const Value* outside, const FieldPath& path,
                             const FieldPath& outside_path) {
    ForEachBranch(node, path, [&](const Value& branch, const FieldPath& here, bool) {
      CheckComplete(branch, outside, here, outside_path);
    });
  }

 private:
  // `told_again` is true for the one branch that may say int-or-string once more.
  template <typename Do>
  void ForEachBranch(const Value& node, const FieldPath& path, Do each) {
    for (const char* keyword : {"anyOf", "allOf", "oneOf"}) {
      const auto& branches = node[keyword];
      if (!branches.is_array()) continue;
      const bool all = std::string_view(keyword) == "allOf";
      for (std::size_t i = 0; i < branches.size(); ++i)
        each(branches.as_array()[i], path.Child(keyword).Index(i), all && i == 0);
    }
    if (node["not"].is_object()) each(node["not"], path.Child("not"), false);
  }

  void VisitChildren(const Value& node, const FieldPath& path, Level level) {
    if (node["items"].is_object()) Visit(node["items"], path.Child("items"), Level::kItem);
    if (node["properties"].is_object())
      for (const auto& [name, child] : node["properties"].as_object())
        Visit(child, path.Child("properties").Key(name), Level::kField);
    const Value& additional = node["additionalProperties"];
    if (additional.is_null()) return;
    const auto here = path.Child("additionalProperties");
    if (level == Level::kRoot) errors_.Forbidden(here, "must not be used at the root");
    if (IsEmbeddedResource(node))
      errors_.Forbidden(here, "must not be used if x-kubernetes-embedded-resource is set");
    if (additional.is_object()) Visit(additional, here, Level::kField);
  }

  void CheckIntOrString(const Value& node, const FieldPath& path) {
    if (!IsIntOrStringNode(node)) return;
    for (const char* keyword : {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"})
      if (SchemaSays(node, keyword))
        errors_.Invalid(path.Child(keyword), true, "must be false if x-kubernetes-int-or-string is true");
  }

  void CheckType(const Value& node, const FieldPath& path, Level level) {
    const auto type = TypeOf(node);
    const auto here = path.Child("type");
    if (IsEmbeddedResource(node) && type != "object") {
      constexpr std::string_view kObject = "must be object if x-kubernetes-embedded-resource is true";
      type.empty() ? errors_.Required(here, kObject) : errors_.Invalid(here, type, kObject);
    } else if (type.empty() && !IsIntOrStringNode(node) && !PreservesUnknownFields(node)) {
      errors_.Required(here, MissingType(level));
    }
    if (level == Level::kRoot && !type.empty() && type != "object")
      errors_.Invalid(here, type, "must be object at the root");
  }

  void CheckMeta(const Value& node, const FieldPath& path, Level level) {
    const auto properties = path.Child("properties");
    const bool resource = level == Level::kRoot || IsEmbeddedResource(node);
    for (const char* name : {"kind", "apiVersion"})
      if (const auto* child = node["properties"].Find(name);
          child != nullptr && resource && TypeOf(*child) != "string")
        errors_.Invalid(properties.Key(name).Child("type"), TypeOf(*child), "must be string");
    if (const auto* metadata = node["properties"].Find("metadata"); metadata != nullptr) {
      const auto here = properties.Key("metadata");
      if (resource && TypeOf(*metadata) != "object")
        errors_.Invalid(here.Child("type"), TypeOf(*metadata), "must be object");
      if (level == Level::kRoot && !OnlyRestrictsNames(*metadata))
        errors_.Forbidden(here,
                          "must not specify anything other than name and generateName, but metadata is "
                          "implicitly specified");
    }
    if (IsEmbeddedResource(node) && !PreservesUnknownFields(node) && node["properties"].size() == 0)
      errors_.Required(properties,
                       "must not be empty if x-kubernetes-embedded-resource is true without "
                       "x-kubernetes-preserve-unknown-fields");
  }

  static bool OnlyRestrictsNames(const Value& metadata) {
    for (const auto& [keyword, value] : metadata.as_object()) {
      if (keyword == "type" || keyword == "default" || IsZero(value)) continue;
      if (keyword != "properties" || !value.is_object()) return false;
      for (const auto& [name, child] : value.as_object())
        if (name != "name" && name != "generateName") return false;
    }
    return true;
  }

  void CheckPattern(const Value& node, const FieldPath& path) {
    const auto pattern = node["pattern"].string_or("");
    if (pattern.empty()) return;
    if (auto problem = PatternProblem(pattern); !problem.empty())
      errors_.Invalid(path.Child("pattern"), pattern,
                      "must be a valid regular expression, but isn't: " + problem);
  }

  // Only what shapes the object may say int-or-string once more in its branches, not the branches themselves.
  void CheckBranches(const Value& node, const FieldPath& path, bool shapes) {
    const bool repeated = shapes && SaysIntOrString(node["anyOf"]);
    ForEachBranch(node, path, [&](const Value& branch, const FieldPath& here, bool first_of_all) {
      const bool of_any = here.text().starts_with(path.Child("anyOf").text());
      if (!(repeated && of_any))
        CheckNested(branch, here, shapes && first_of_all && SaysIntOrString(branch["anyOf"]));
    });
  }

  // A schema below allOf and its like only restricts values: it may not shape the object.
  void CheckNested(const Value& node, const FieldPath& path, bool repeats_int_or_string) {
    if (repeats_int_or_string) {
      Value rest = node;
      rest.as_object().Erase("anyOf");
      CheckBranches(rest, path, false);
    } else {
      CheckBranches(node, path, false);
    }
    CheckPattern(node, path);
    if (node["items"].is_object()) CheckNested(node["items"], path.Child("items"), false);
    if (node["properties"].is_object())
      for (const auto& [name, child] : node["properties"].as_object())
        CheckNested(child, path.Child("properties").Key(name), false);
    CheckShapeless(node, path);
    if (node["properties"].Find("metadata") != nullptr)
      errors_.Forbidden(path.Child("properties").Key("metadata"),
                        "must not be specified in a nested context");
  }

  void CheckShapeless(const Value& node, const FieldPath& path) {
    const auto refuse = [&](const char* keyword, const char* detail) {
      if (!IsZero(node[keyword])) errors_.Forbidden(path.Child(keyword), detail);
    };
    for (const char* keyword :
         {"type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations"})
      refuse(keyword, "must be empty to be structural");
    for (const char* keyword : {"x-kubernetes-list-type", "x-kubernetes-map-type"})
      refuse(keyword, "must be undefined to be structural");
    const Value& additional = node["additionalProperties"];
    if (additional.is_object() || additional.bool_or(false))
      errors_.Forbidden(path.Child("additionalProperties"), "must be undefined to be structural");
    if (!node["default"].is_null())
      errors_.Forbidden(path.Child("default"), "must be undefined to be structural");
    for (const char* keyword : {"nullable", "x-kubernetes-preserve-unknown-fields",
                                "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"})
      refuse(keyword, "must be false to be structural");
  }

  FieldErrors& errors_;
};

// True if pruning would take something away from the value.
bool HasUnknownFields(const Value& node, const Value& value) {
  if (value.is_array())
    return std::any_of(value.as_array().begin(), value.as_array().end(),
                       [&](const Value& item) { return HasUnknownFields(node["items"], item); });
  if (!value.is_object()) return false;
  const Value& additional = node["additionalProperties"];
  for (const auto& [name, child] : value.as_object()) {
    const bool meta =
        IsEmbeddedResource(node) && (name == "apiVersion" || name == "kind" || name == "metadata");
    if (meta) continue;
    if (const Value* property = node["properties"].Find(name)) {
      if (HasUnknownFields(*property, child)) return true;
    } else if (additional.is_object()) {
      if (HasUnknownFields(additional, child)) return true;
    } else if (!additional.bool_or(false) && !PreservesUnknownFields(node)) {
      return true;
    }
  }
  return false;
}

// Defaults must be values the schema and its rules allow, as they are stored.
class DefaultsValidator {
 public:
  DefaultsValidator(const CustomSchema& schema, FieldErrors& errors) : schema_(schema), errors_(errors) {}

  void Visit(const Value& node, const FieldPath& path) {
    if (budget_ < 0) return;
    if (const Value& preset = node["default"]; !preset.is_null()) Check(node, preset, path.Child("default"));
    if (node["items"].is_object()) Visit(node["items"], path.Child("items"));
    if (node["properties"].is_object())
      for (const auto& [name, child] : node["properties"].as_object())
        Visit(child, path.Child("properties").Key(name));
  }

 private:
  void Check(const Value& node, const Value& preset, const FieldPath& path) {
    if (HasUnknownFields(node, preset)) errors_.Invalid(path, preset, "must not have unknown fields");
    FieldErrors found;
    ValidateAgainstSchema(schema_, node, preset, path, found);
    if (found.empty()) CheckRules(node, preset, path);
    errors_.Append(std::move(found));
  }
  void CheckRules(const Value& node, const Value& preset, const FieldPath& path) {
    const auto rules = cel::Validator::Build(node, false);
    if (!rules) return;
    const auto outcome = rules->ValidateDefault(preset, path.text(), budget_);
    budget_ = outcome.remaining;
    AddRuleProblems(outcome.problems, errors_);
  }

  const CustomSchema& schema_;
  FieldErrors& errors_;
  std::int64_t budget_ = cel::kObjectCostBudget;
};

// Why no structure can be made of the schema; empty if one can (upstream: NewStructural).
std::string UnsupportedKeyword(const Value& node) {
  for (const auto& [keyword, shown] : {std::pair{"id", "id"},
                                       {"$schema", "schema"},
                                       {"$ref", "$ref"},
                                       {"patternProperties", "patternProperties"},
                                       {"dependencies", "dependencies"},
                                       {"definitions", "definitions"}})
    if (!IsZero(node[keyword])) return "OpenAPIV3Schema '" + std::string(shown) + "' is not supported";
  if (!node["additionalItems"].is_null()) return "OpenAPIV3Schema 'additionalItems' is not supported";
  if (node["items"].is_array() && !node["items"].empty())
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  if (const Value& preserve = node["x-kubernetes-preserve-unknown-fields"];
      preserve.is_bool() && !preserve.as_bool())
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  return "";
}

std::string ConversionProblem(const Value& node) {
  if (!node.is_object()) return "";
  std::string problem = UnsupportedKeyword(node);
  const auto look = [&](const Value& below) {
    if (problem.empty()) problem = ConversionProblem(below);
  };
  for (const char* keyword : {"items", "additionalProperties", "not"}) look(node[keyword]);
  if (node["properties"].is_object())
    for (const auto& member : node["properties"].as_object()) look(member.second);
  for (const char* keyword : {"allOf", "anyOf", "oneOf"})
    if (node[keyword].is_array())
      for (const Value& branch : node[keyword].as_array()) look(branch);
  return problem;
}

FieldErrors StructuralErrors(const Value& schema, const FieldPath& path) {
  FieldErrors found;
  StructuralValidator validator(found);
  validator.Visit(schema, path, Level::kRoot);
  validator.CheckBranchesComplete(schema, &schema, path, path);
  std::vector<Cause> causes = found.causes();
  std::sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) {
    return a.field + ": " + a.message < b.field + ": " + b.message;
  });
  FieldErrors sorted;
  for (Cause& cause : causes) sorted.Add(std::move(cause));
  return sorted;
}

}  // namespace

void ValidateStructuralSchema(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  // Also bounds the depth of every walk below.
  auto built = CustomSchema::Build(schema);
  if (!built) return errors.Invalid(path, "", built.error().message());
  if (SchemaSays(schema, "nullable"))
    errors.Forbidden(path.Child("nullable"), "nullable cannot be true at the root");
  const std::string unsupported = ConversionProblem(schema);
  if (unsupported.empty()) {
    FieldErrors structural = StructuralErrors(schema, path);
    if (structural.empty()) DefaultsValidator(**built, structural).Visit(schema, path);
    errors.Append(std::move(structural));
  }
  ValidateOpenApiSchema(schema, path, errors);
  if (errors.empty() && !unsupported.empty()) errors.Invalid(path, "", unsupported);
}

}  // namespace flyball::api
