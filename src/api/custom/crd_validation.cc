#include "api/custom/crd_validation.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "api/custom/crd_status.h"
#include "api/custom/rule_problems.h"
#include "api/custom/shown_schema.h"
#include "api/rules/admission_rules.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"
#include "base/values/result.h"

namespace flyball::api {

namespace {

using json::Value;

constexpr std::array<std::string_view, 5> kColumnTypes = {"boolean", "date", "integer", "number", "string"};
constexpr std::array<std::string_view, 8> kColumnFormats = {"byte",  "date",  "date-time", "double",
                                                            "float", "int32", "int64",     "password"};

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

template <typename List>
std::string JoinNames(const List& names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ",") + std::string(name);
  return out;
}

const json::Array& Elements(const Value& list) {
  static const json::Array none;
  return list.is_array() ? list.as_array() : none;
}

// Upstream moves what all versions have in common out of them before it validates, so its paths, and the
// versions it shows, depend on that.
class Hoist {
 public:
  explicit Hoist(const Value& spec) : versions_(Elements(spec["versions"])) {}

  bool Common(std::string_view member) const {
    if (versions_.empty()) return false;
    const auto& first = versions_.front()[member];
    if (first.is_null() || (first.is_array() && first.empty())) return false;
    return std::all_of(versions_.begin(), versions_.end(),
                       [&](const Value& v) { return v[member] == first; });
  }

  // The versions as the struct Go prints: those members that were moved out show as null.
  Value Shown() const {
    json::Array out;
    for (const auto& version : versions_) {
      json::Object shown;
      shown.Append("Name", version["name"].string_or(""));
      shown.Append("Served", version["served"].bool_or(false));
      shown.Append("Storage", version["storage"].bool_or(false));
      shown.Append("Deprecated", version["deprecated"].bool_or(false));
      shown.Append("DeprecationWarning", version["deprecationWarning"]);
      shown.Append("Schema", Common("schema") ? Value() : ShownValidation(version["schema"]));
      shown.Append("Subresources", Common("subresources") ? Value() : version["subresources"]);
      shown.Append("AdditionalPrinterColumns",
                   Common("additionalPrinterColumns") ? Value() : version["additionalPrinterColumns"]);
      shown.Append("SelectableFields", Common("selectableFields") ? Value() : version["selectableFields"]);
      out.emplace_back(std::move(shown));
    }
    return out;
  }

 private:
  static Value ShownValidation(const Value& validation) {
    if (!validation.is_object()) return {};
    const Value& schema = validation["openAPIV3Schema"];
    return json::Object{{"OpenAPIV3Schema", schema.is_object() ? ShownSchema(schema) : Value()}};
  }

  const json::Array& versions_;
};

void CheckLabel(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (const auto problems = Dns1035LabelProblems(text); !problems.empty())
    errors.Invalid(path, text, Join(problems));
}

void CheckLabels(const Value& list, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < Elements(list).size(); ++i)
    CheckLabel(list.as_array()[i].string_or(""), path.Index(i), errors);
}

void CheckMixedCase(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (const auto problems = Dns1035LabelProblems(LowerCase(text)); !problems.empty())
    errors.Invalid(path, text, "may have mixed case, but should otherwise match: " + Join(problems));
}

void CheckNames(const Value& names, const FieldPath& path, FieldErrors& errors) {
  const auto plural = names["plural"].string_or(""), singular = names["singular"].string_or("");
  const auto kind = names["kind"].string_or(""), list_kind = names["listKind"].string_or("");
  for (const char* required : {"plural", "singular", "kind", "listKind"})
    if (names[required].string_or("").empty()) errors.Required(path.Child(required));
  if (!plural.empty()) CheckLabel(plural, path.Child("plural"), errors);
  if (!singular.empty()) CheckLabel(singular, path.Child("singular"), errors);
  if (!kind.empty()) CheckMixedCase(kind, path.Child("kind"), errors);
  if (!list_kind.empty()) CheckMixedCase(list_kind, path.Child("listKind"), errors);
  CheckLabels(names["shortNames"], path.Child("shortNames"), errors);
  if (!kind.empty() && kind == list_kind)
    errors.Invalid(path.Child("listKind"), list_kind, "kind and listKind may not be the same");
  CheckLabels(names["categories"], path.Child("categories"), errors);
}

void CheckGroup(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const auto group = spec["group"].string_or("");
  if (group.empty()) return errors.Required(path);
  if (const auto problems = DnsSubdomainProblems(group); !problems.empty())
    errors.Invalid(path, group, Join(problems));
  else if (group.find('.') == std::string_view::npos)
    errors.Invalid(path, group, "should be a domain with at least one dot");
}

void CheckEnum(const Value& value, const FieldPath& path, std::vector<std::string> allowed,
               FieldErrors& errors) {
  const auto text = value.string_or("");
  if (text.empty()) return errors.Required(path);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
    errors.NotSupported(path, text, std::move(allowed));
}

void CheckDeprecation(const Value& version, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxWarning = 256;
  const auto& warning = version["deprecationWarning"];
  if (warning.is_null()) return;
  const auto text = warning.string_or("");
  if (!version["deprecated"].bool_or(false))
    return errors.Invalid(path, warning, "can only be set for deprecated versions");
  if (text.size() > kMaxWarning) errors.Invalid(path, warning, "must be <= 256 characters long");
  if (text.empty()) errors.Invalid(path, warning, "must not be an empty string");
  const auto odd =
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (odd != text.end())
    errors.Invalid(path, warning,
                   "must only contain printable UTF-8 characters; non-printable character found at index " +
                       std::to_string(odd - text.begin()));
}

// What the versions say together.
void CheckVersionsTogether(const Value& spec, const Hoist& hoist, const FieldPath& path,
                           FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t storage = 0;
  bool unique = true;
  for (const Value& version : Elements(spec["versions"])) {
    storage += version["storage"].bool_or(false);
    unique = names.insert(version["name"].string_or("")).second && unique;
  }
  if (!unique) errors.Invalid(path, hoist.Shown(), "must contain unique version names");
  if (storage != 1)
    errors.Invalid(path, spec["versions"].is_null() ? Value() : hoist.Shown(),
                   "must have exactly one version marked as storage version");
}

void CheckSimplePath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.empty()) return errors.Required(path);
  if (!text.starts_with('.')) errors.Invalid(path, text, "must be a simple json path starting with .");
}

void CheckColumns(const Value& columns, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < Elements(columns).size(); ++i) {
    const auto& column = columns.as_array()[i];
    const auto here = path.Index(i);
    if (column["name"].string_or("").empty()) errors.Required(here.Child("name"));
    const auto type = column["type"].string_or(""), format = column["format"].string_or("");
    const std::string allowed = "must be one of " + JoinNames(kColumnTypes);
    if (type.empty())
      errors.Required(here.Child("type"), allowed);
    else if (std::find(kColumnTypes.begin(), kColumnTypes.end(), type) == kColumnTypes.end())
      errors.Invalid(here.Child("type"), type, allowed);
    if (!format.empty() &&
        std::find(kColumnFormats.begin(), kColumnFormats.end(), format) == kColumnFormats.end())
      errors.Invalid(here.Child("format"), format, "must be one of " + JoinNames(kColumnFormats));
    CheckSimplePath(column["jsonPath"].string_or(""), here.Child("JSONPath"), errors);
  }
}

void CheckScalePath(const Value& text, const FieldPath& path, std::vector<std::string_view> roots,
                    std::string_view problem, FieldErrors& errors) {
  const auto given = text.string_or("");
  const bool below =
      std::any_of(roots.begin(), roots.end(), [&](auto root) { return given.starts_with(root); });
  if (!given.starts_with('.')) return CheckSimplePath(given, path, errors);
  if (!below) errors.Invalid(path, given, problem);
}

void CheckSubresources(const Value& subresources, const FieldPath& path, FieldErrors& errors) {
  const auto& scale = subresources["scale"];
  if (!scale.is_object()) return;
  const auto here = path.Child("scale");
  for (const char* member : {"specReplicasPath", "statusReplicasPath"}) {
    if (scale[member].string_or("").empty()) {
      errors.Required(here.Child(member));
      continue;
    }
    const bool spec = std::string_view(member).starts_with("spec");
    CheckScalePath(scale[member], here.Child(member), {spec ? ".spec." : ".status."},
                   spec ? "should be a json path under .spec" : "should be a json path under .status",
                   errors);
  }
  if (!scale["labelSelectorPath"].string_or("").empty())
    CheckScalePath(scale["labelSelectorPath"], here.Child("labelSelectorPath"), {".spec.", ".status."},
                   "should be a json path under either .spec or .status", errors);
}

// The schema of the field a path without indexes names; else why there is none.
Result<const Value*> SchemaAt(const Value& schema, std::string_view path) {
  const Value* at = &schema;
  while (!path.empty()) {
    const auto end = std::min(path.find_first_of(".[]", 1), path.size());
    const auto token = path.substr(0, path.front() == '.' || path.front() == '[' ? 1 : end);
    if (token == "[") return Unexpected(BadRequest("array notation is not allowed"));
    if (token != ".") return Unexpected(BadRequest("expected [ or . but got: " + std::string(token)));
    const auto name = path.substr(1, end - 1);
    if (path.size() == 1) return Unexpected(BadRequest("unexpected end of JSON path"));
    const Value& additional = (*at)["additionalProperties"];
    at = (*at)["properties"].size() != 0 ? (*at)["properties"].Find(name)
                                         : (additional.is_object() ? &additional : nullptr);
    if (at == nullptr) return Unexpected(BadRequest("does not refer to a valid field"));
    path.remove_prefix(end);
  }
  return at;
}

void CheckSelectableField(const Value& version, std::string_view text, const FieldPath& path,
                          std::set<std::string_view>& seen, FieldErrors& errors) {
  if (text.empty()) return errors.Required(path);
  const auto node = SchemaAt(version["schema"]["openAPIV3Schema"], text);
  if (!node) return errors.Invalid(path, text, "is an invalid path: " + node.error().message());
  if (text == ".metadata" || text.starts_with(".metadata."))
    errors.Invalid(path, text, "must not point to fields in metadata");
  const auto type = (**node)["type"].string_or("");
  if (type != "string" && type != "integer" && type != "boolean")
    errors.Invalid(path, text,
                   "must point to a field of type string, boolean or integer. Enum string fields and "
                   "strings with formats are allowed.");
  if (!seen.insert(text).second) errors.Duplicate(path, text);
}

void CheckSelectableFields(const Value& version, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxFields = 8;
  const auto& fields = Elements(version["selectableFields"]);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < fields.size(); ++i)
    CheckSelectableField(version, fields[i]["jsonPath"].string_or(""), path.Index(i).Child("jsonPath"), seen,
                         errors);
  if (seen.size() > kMaxFields) errors.TooMany(path, seen.size(), kMaxFields);
}

// What may stand at the root where `properties.status` alone is validated of a status update.
constexpr std::string_view kAtRootWithStatus[] = {"Description",
                                                  "Type",
                                                  "Format",
                                                  "Title",
                                                  "Maximum",
                                                  "ExclusiveMaximum",
                                                  "Minimum",
                                                  "ExclusiveMinimum",
                                                  "MaxLength",
                                                  "MinLength",
                                                  "Pattern",
                                                  "MaxItems",
                                                  "MinItems",
                                                  "UniqueItems",
                                                  "MultipleOf",
                                                  "Required",
                                                  "Items",
                                                  "Properties",
                                                  "ExternalDocs",
                                                  "Example",
                                                  "XPreserveUnknownFields",
                                                  "XValidations"};

// Tells the first field only, as upstream does.
void CheckRootWithStatus(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  for (const SchemaField& field : SchemaFields()) {
    if (!field.IsSet(schema)) continue;
    if (field.field == "Type" && schema["type"].string_or("") != "object")
      return errors.Invalid(path.Child("type"), schema["type"],
                            "only \"object\" is allowed as the type at the root of the schema if the status "
                            "subresource is enabled");
    if (std::ranges::find(kAtRootWithStatus, field.field) != std::end(kAtRootWithStatus)) continue;
    std::string allowed;
    for (const auto name : kAtRootWithStatus) allowed += (allowed.empty() ? "" : " ") + std::string(name);
    return errors.Invalid(
        path, ShownSchema(schema),
        "only [" + allowed +
            "] fields are allowed at the root of the schema if the status subresource is enabled");
  }
}

bool HasStatus(const Value& version) {
  return version["subresources"]["status"].is_object();
}

// Rules are compiled only where the schema itself is fine.
void CheckSchema(const Value& schema, bool with_status, const FieldPath& path, FieldErrors& errors) {
  FieldErrors found;
  if (with_status) CheckRootWithStatus(schema, path, errors);
  ValidateStructuralSchema(schema, path, found);
  const bool fine = found.empty();
  errors.Append(std::move(found));
  const cel::DefinitionProblems problems = cel::CheckDefinitionRules(schema, path.text(), nullptr);
  AddRuleProblems(problems.form, errors);
  if (fine) AddRuleProblems(problems.rules, errors);
}

// Those parts of a version that upstream moves to the top where all versions have the same.
class VersionParts {
 public:
  VersionParts(const Value& spec, const Hoist& hoist, const FieldPath& path, FieldErrors& errors)
      : versions_(Elements(spec["versions"])), hoist_(hoist), path_(path), errors_(errors) {}

  void CheckOwn(std::size_t i) {
    const FieldPath here = path_.Child("versions").Index(i);
    for (const std::string_view part : kParts)
      if (!hoist_.Common(part)) Check(part, versions_[i], here.Child(part), HasStatus(versions_[i]));
  }
  void CheckCommon() {
    const bool any_status = std::ranges::any_of(versions_, HasStatus);
    for (const std::string_view part : kParts)
      if (hoist_.Common(part))
        Check(part, versions_.front(), path_.Child(part == "schema" ? "validation" : part), any_status);
  }

 private:
  static constexpr std::string_view kParts[] = {"schema", "subresources", "additionalPrinterColumns",
                                                "selectableFields"};

  void Check(std::string_view part, const Value& version, const FieldPath& here, bool with_status) {
    const auto& schema = version["schema"]["openAPIV3Schema"];
    if (part == "schema") {
      if (schema.is_object()) CheckSchema(schema, with_status, here.Child("openAPIV3Schema"), errors_);
    } else if (part == "subresources") {
      CheckSubresources(version[part], here, errors_);
    } else if (part == "additionalPrinterColumns") {
      CheckColumns(version[part], here, errors_);
    } else if (Elements(version[part]).empty()) {
      return;
    } else if (hoist_.Common(part) && !hoist_.Common("schema")) {
      errors_.Invalid(here, "", "may only be set when validations.schema is included");
    } else if (!hoist_.Common(part) && (hoist_.Common("schema") || !schema.is_object())) {
      errors_.Invalid(here, "", "may only be set when `version.schema.openAPIV3Schema` is not included");
    } else {
      CheckSelectableFields(version, here, errors_);
    }
  }

  const json::Array& versions_;
  const Hoist& hoist_;
  const FieldPath& path_;
  FieldErrors& errors_;
};

void CheckVersions(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Hoist hoist(spec);
  const FieldPath list = path.Child("versions");
  const auto& versions = Elements(spec["versions"]);
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (!versions[i]["schema"]["openAPIV3Schema"].is_object())
      errors.Required(list.Index(i).Child("schema").Child("openAPIV3Schema"));
  VersionParts parts(spec, hoist, path, errors);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    CheckLabel(versions[i]["name"].string_or(""), list.Index(i).Child("name"), errors);
    CheckDeprecation(versions[i], list.Index(i).Child("deprecationWarning"), errors);
    parts.CheckOwn(i);
  }
  CheckVersionsTogether(spec, hoist, list, errors);
  // Upstream's internal type has the first version once more.
  if (!versions.empty() && !versions.front()["name"].string_or("").empty())
    CheckLabel(versions.front()["name"].string_or(""), path.Child("version"), errors);
  CheckNames(spec["names"], path.Child("names"), errors);
  parts.CheckCommon();
}

void CheckReviewVersions(const Value& versions, const FieldPath& path, FieldErrors& errors) {
  if (Elements(versions).empty()) return errors.Required(path);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < Elements(versions).size(); ++i) {
    const auto version = versions.as_array()[i].string_or("");
    if (!seen.insert(version).second) {
      errors.Invalid(path.Index(i), version, "duplicate version");
      continue;
    }
    for (const auto& problem : Dns1035LabelProblems(version)) errors.Invalid(path.Index(i), version, problem);
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    errors.Invalid(path, versions, "must include at least one of v1, v1beta1");
}

// The paths are those of upstream's internal type.
void CheckConversion(const Value& conversion, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kNotSet = "should not be set when strategy is not set to Webhook";
  if (!conversion.is_object()) return;
  CheckEnum(conversion["strategy"], path.Child("strategy"), {"None", "Webhook"}, errors);
  const auto& client = conversion["webhook"]["clientConfig"];
  const auto& versions = conversion["webhook"]["conversionReviewVersions"];
  const auto client_path = path.Child("webhookClientConfig");
  const auto versions_path = path.Child("conversionReviewVersions");
  if (conversion["strategy"].string_or("") != "Webhook") {
    if (client.is_object()) errors.Forbidden(client_path, kNotSet);
    if (!versions.empty()) errors.Forbidden(versions_path, kNotSet);
    return;
  }
  if (client.is_object())
    ValidateWebhookClient(client, client_path, errors);
  else
    errors.Required(client_path, "required when strategy is set to Webhook");
  CheckReviewVersions(versions, versions_path, errors);
}

std::string MissingStoredVersion(const std::string& version) {
  return "missing from spec.versions; " + version +
         " was previously a storage version, and must remain in spec.versions until a storage migration "
         "ensures no data remains persisted in " +
         version + " and removes " + version + " from status.storedVersions";
}

void CheckStoredVersions(const Value& definition, FieldErrors& errors) {
  const FieldPath path("status.storedVersions");
  const auto stored = StoredVersions(definition);
  if (stored.empty()) return errors.Invalid(path, Value(), "must have at least one stored version");
  std::set<std::string_view> left(stored.begin(), stored.end());
  for (const Value& version : Elements(definition["spec"]["versions"])) {
    const auto name = version["name"].string_or("");
    if (version["storage"].bool_or(false) && !left.contains(name))
      errors.Invalid(path, json::Array(stored.begin(), stored.end()),
                     "must have the storage version " + std::string(name));
    left.erase(name);
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto& versions = Elements(definition["spec"]["versions"]);
    const bool known = std::any_of(versions.begin(), versions.end(),
                                   [&](const Value& v) { return v["name"].string_or("") == stored[i]; });
    if (!known) errors.Invalid(path.Index(i), stored[i], MissingStoredVersion(stored[i]));
  }
}

void CheckApproval(const Value& definition, FieldErrors& errors) {
  if (!IsProtectedGroup(definition["spec"]["group"].string_or(""))) return;
  const auto approval = ApprovalOf(definition);
  const auto path = FieldPath("metadata").Child("annotations").Key(kApprovalAnnotation);
  if (approval.state == Approval::kMissing) errors.Required(path, approval.message);
  if (approval.state == Approval::kMalformed)
    errors.Invalid(path, definition["metadata"]["annotations"][kApprovalAnnotation], approval.message);
}

}  // namespace

void DefaultCustomResourceDefinition(Value& definition) {
  auto& spec = definition["spec"];
  if (!spec.is_object()) return;
  auto& names = spec["names"];
  if (names.is_object()) {
    const std::string kind(names["kind"].string_or(""));
    if (names["singular"].string_or("").empty() && !kind.empty()) names["singular"] = LowerCase(kind);
    if (names["listKind"].string_or("").empty() && !kind.empty()) names["listKind"] = kind + "List";
  }
  if (!spec["conversion"].is_object()) {
    json::Object conversion;
    conversion.Append("strategy", "None");
    spec["conversion"] = std::move(conversion);
  }
  const auto& strategy = spec["conversion"]["strategy"];
  if (strategy.string_or("").empty()) spec["conversion"]["strategy"] = "None";
}

void ValidateCustomResourceDefinition(const Value& definition, FieldErrors& errors) {
  const auto& spec = definition["spec"];
  const FieldPath path("spec");
  const std::string name(definition["metadata"]["name"].string_or(""));
  const std::string required_name =
      std::string(spec["names"]["plural"].string_or("")) + '.' + std::string(spec["group"].string_or(""));
  const auto prefix = definition["metadata"]["generateName"].string_or("");
  if (!prefix.empty() && prefix != required_name)
    errors.Invalid(FieldPath("metadata.generateName"), prefix, "must be spec.names.plural+\".\"+spec.group");
  if (!name.empty() && name != required_name)
    errors.Invalid(FieldPath("metadata.name"), name, "must be spec.names.plural+\".\"+spec.group");
  CheckGroup(spec, path.Child("group"), errors);
  CheckEnum(spec["scope"], path.Child("scope"), {"Cluster", "Namespaced"}, errors);
  CheckVersions(spec, path, errors);
  CheckConversion(spec["conversion"], path.Child("conversion"), errors);
  CheckStoredVersions(definition, errors);
  CheckApproval(definition, errors);
  if (spec["preserveUnknownFields"].bool_or(false))
    errors.Invalid(
        path.Child("preserveUnknownFields"), true,
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
        "instead");
}

void ValidateCustomResourceDefinitionUpdate(const Value& definition, const Value& old, FieldErrors& errors) {
  const auto& spec = definition["spec"];
  const auto& before = old["spec"];
  const FieldPath path("spec");
  const auto immutable = [&](const Value& now, const Value& was, const FieldPath& where) {
    if (now != was) errors.Invalid(where, now, "field is immutable");
  };
  if (IsEstablished(old)) {
    immutable(spec["scope"], before["scope"], path.Child("scope"));
    immutable(spec["names"]["kind"], before["names"]["kind"], path.Child("names").Child("kind"));
  }
  immutable(spec["group"], before["group"], path.Child("group"));
  immutable(spec["names"]["plural"], before["names"]["plural"], path.Child("names").Child("plural"));
}

}  // namespace flyball::api
