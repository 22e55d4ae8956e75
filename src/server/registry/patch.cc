#include "server/registry/patch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "api/merge/strategic_merge.h"
#include "api/rules/field_error.h"
#include "api/schema/decode.h"
#include "api/schema/go_type_name.h"
#include "api/values/go_text.h"
#include "json/json.h"
#include "json/parse_repeated.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"
#include "server/registry/field_manager.h"
#include "server/registry/object_codec.h"
#include "server/registry/strict_decode.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxJsonPatchOperations = 10000;

// What upstream answers to a patch that cannot be applied, whatever the reason.
Error Rejected() {
  return Error(Reason::kInvalid, 422, "the server rejected our request due to an error in our request",
               {.present = true});
}

Error Undecodable(std::string_view why) {
  return BadRequest("error decoding patch: " + std::string(why));
}

bool NamesVersion(const json::Value& patch) {
  if (patch.is_object()) return !patch["metadata"]["resourceVersion"].is_null();
  if (!patch.is_array()) return false;
  for (const auto& operation : patch.as_array())
    if (operation["path"].string_or("") == "/metadata/resourceVersion") return true;
  return false;
}

// What an operation of a JSON patch, at `path`, says besides what operations have, or says twice.
void NoteStrictErrors(const json::Value& operation, const std::string& path,
                      const std::vector<std::string>& duplicates, api::DecodeContext& found) {
  constexpr std::array<std::string_view, 4> kMembers = {"op", "from", "path", "value"};
  for (const auto& [key, member] : operation.as_object()) {
    const std::string_view name = json::UnmarkedKey(key);
    const std::string at = path + '.' + std::string(name);
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      found.Add("json patch unknown field ", at);
    else if (json::IsRepeated(key))
      found.Add("json patch duplicate field ", at);
    if (name != "value") continue;
    for (const std::string& duplicate : duplicates)
      if (duplicate.starts_with(at + '.') || duplicate.starts_with(at + '['))
        found.Add("json patch duplicate field ", duplicate);
  }
}

std::vector<std::string> StrictErrorsOfJsonPatch(const Patch& patch, std::string_view body) {
  api::DecodeContext found;
  Result<json::Value> repeated = json::Value();
  if (!patch.duplicates.empty()) repeated = json::ParseRepeated(body);
  const json::Value& operations = patch.duplicates.empty() || !repeated ? patch.value : *repeated;
  for (std::size_t i = 0; operations.is_array() && i < operations.size(); ++i) {
    const json::Value& operation = operations.as_array()[i];
    if (operation.is_object())
      NoteStrictErrors(operation, '[' + std::to_string(i) + ']', patch.duplicates, found);
  }
  return found.strict_errors;
}

// Without the words our reader has for the same step.
std::string YamlProblem(std::string_view message) {
  constexpr std::string_view kConverting = "error converting YAML to JSON: ";
  if (message.starts_with(kConverting)) message.remove_prefix(kConverting.size());
  return std::string(message);
}

Result<Patch> ParseApply(std::string_view body) {
  Patch patch{PatchType::kApply};
  auto value = json::ParseYaml(body, &patch.duplicates);
  if (!value) return Unexpected(BadRequest("error encoding patch: " + YamlProblem(value.error().message())));
  patch.value = std::move(*value);
  if (patch.value.is_null()) patch.value = json::Object{};
  if (!patch.value.is_object())
    return Unexpected(BadRequest(
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
        std::string(json::GoKindName(patch.value)) + " into Go value of type map[string]interface {}"));
  return patch;
}

// The reflect.Kind of a value in Go.
std::string_view ReflectKind(const json::Value& value) {
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int64";
  if (value.is_double()) return "float64";
  if (value.is_string()) return "string";
  return value.is_array() ? "slice" : "map";
}

// Why the value of a simple type cannot be taken; `go_type` is the type's name in Go, `kind` what it is.
std::string ConversionProblem(const json::Value& value, const std::string& go_type, std::string_view kind) {
  const bool number = kind != "string" && kind != "bool";
  const bool convertible = (number && value.is_number()) || (kind == "string" && value.is_int());
  if (convertible) return "cannot convert " + std::string(ReflectKind(value)) + " to " + go_type;
  return "unrecognized type: " + std::string(kind);
}

std::string RestoreProblem(const api::TypeInfo& type, const json::Value& value, const std::string& go_type);

std::string RestoreMembersProblem(const api::TypeInfo& type, const json::Value& object) {
  for (const api::FieldInfo& field : type.fields) {
    const json::Value* member = object.Find(field.name);
    if (member == nullptr) continue;
    const bool collection = field.type->element != nullptr;
    auto problem =
        RestoreProblem(*field.type, *member,
                       collection ? api::GoElementTypeName(type, field) : api::GoFieldTypeName(type, field));
    if (!problem.empty()) return problem;
  }
  return "";
}

// A type that decodes itself.
std::string OwnDecodingProblem(const api::TypeInfo& type, json::Value value) {
  api::DecodeContext context;
  const auto decoded = api::Decode(type, value, context);
  return decoded ? "" : decoded.error().message();
}

// Why Go cannot put the value into the type (upstream: FromUnstructured, which strategic merge patches go
// through); empty if it can. `go_type` is the name of the type, or of its elements.
std::string RestoreProblem(const api::TypeInfo& type, const json::Value& value, const std::string& go_type) {
  using Kind = api::TypeKind;
  if (value.is_null()) return "";
  const std::string from(ReflectKind(value));
  switch (type.kind) {
    case Kind::kString:
      return value.is_string() ? "" : ConversionProblem(value, go_type, "string");
    case Kind::kBool:
      return value.is_bool() ? "" : ConversionProblem(value, go_type, "bool");
    case Kind::kFloat64:
      return value.is_number() ? "" : ConversionProblem(value, go_type, "float64");
    case Kind::kInt32:
    case Kind::kInt64: {
      const bool whole =
          value.is_int() || (value.is_double() && value.as_double() == std::trunc(value.as_double()));
      return whole ? "" : ConversionProblem(value, go_type, type.kind == Kind::kInt32 ? "int32" : "int64");
    }
    case Kind::kBytes: {
      if (!value.is_string()) return value.is_array() ? "" : "cannot restore slice from " + from;
      const std::string problem = OwnDecodingProblem(type, value);
      return problem.empty() ? "" : "error decoding from json: " + problem;
    }
    case Kind::kMap:
      if (!value.is_object()) return "cannot restore map from " + from;
      for (const auto& [key, element] : value.as_object())
        if (auto problem = RestoreProblem(*type.element, element, go_type); !problem.empty()) return problem;
      return "";
    case Kind::kList:
      if (!value.is_array()) return "cannot restore slice from " + from;
      for (const auto& element : value.as_array())
        if (auto problem = RestoreProblem(*type.element, element, go_type); !problem.empty()) return problem;
      return "";
    case Kind::kObject:
      if (!value.is_object()) return "cannot restore struct from: " + from;
      return RestoreMembersProblem(type, value);
    default:
      return OwnDecodingProblem(type, value);
  }
}

// Upstream's patch library takes apart only the objects that a patch reaches, and writes their members by
// name.
void SortAlongPatch(json::Value& merged, const json::Value& patch) {
  std::vector<std::pair<json::Value*, const json::Value*>> left{{&merged, &patch}};
  while (!left.empty()) {
    const auto [value, change] = left.back();
    left.pop_back();
    if (value->is_array() && change->is_array() && value->size() == change->size()) {
      for (std::size_t i = 0; i < value->size(); ++i)
        left.emplace_back(&value->as_array()[i], &change->as_array()[i]);
    } else if (value->is_object() && change->is_object()) {
      value->as_object().SortKeys();
      for (auto& [key, member] : value->as_object())
        if (const json::Value* below = change->Find(key)) left.emplace_back(&member, below);
    }
  }
}

// The same for the objects on the way to what an operation of a JSON patch names.
void SortAlongPath(json::Value& patched, std::string_view path) {
  json::Value* at = &patched;
  while (at != nullptr && at->is_object() && path.starts_with('/')) {
    at->as_object().SortKeys();
    const std::size_t end = std::min(path.find('/', 1), path.size());
    at = at->as_object().Find(path.substr(1, end - 1));
    path.remove_prefix(end);
  }
}

// What upstream's merge leaves of a strategic patch: it takes the directives and the nulls out as it goes.
json::Value WithoutDirectives(const json::Value& patch) {
  if (patch.is_array()) {
    json::Array kept;
    for (const auto& element : patch.as_array())
      if (element["$patch"].string_or("") != "delete") kept.push_back(WithoutDirectives(element));
    return kept;
  }
  if (!patch.is_object()) return patch;
  json::Object kept;
  for (const auto& [key, member] : patch.as_object())
    if (!key.starts_with('$') && !member.is_null()) kept.Append(key, WithoutDirectives(member));
  return kept;
}

// A patch result that does not decode names the patch, as upstream does.
Error PatchInvalid(const api::TypeInfo& type, const Patch& patch, const json::Value& merged,
                   const Error& cause) {
  constexpr std::string_view kHandled = " cannot be handled as a ";
  const auto handled = cause.message().find(kHandled);
  const auto colon = handled == std::string::npos ? handled : cause.message().find(": ", handled);
  if (colon == std::string::npos) return cause;
  json::Value result = merged;
  if (type.schema) SortAllKeys(result);
  const std::string shown = patch.type == PatchType::kStrategicMerge
                                ? api::GoPrint(WithoutDirectives(patch.value))
                                : json::Write(result);
  api::FieldErrors errors;
  std::string why;
  if (patch.type == PatchType::kStrategicMerge) why = RestoreProblem(type, merged, "");
  if (why.empty()) why = cause.message().substr(colon + 2);
  errors.Invalid(api::FieldPath("patch"), json::Value(shown), why);
  return errors.ToError("", "", "");
}

}  // namespace

Result<PatchType> PatchTypeOf(std::string_view content_type, const ServedResource& resource) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type == "application/json-patch+json") return PatchType::kJson;
  if (type == "application/merge-patch+json") return PatchType::kMerge;
  if (type == "application/strategic-merge-patch+json" && !resource.custom) return PatchType::kStrategicMerge;
  if (type == "application/apply-patch+yaml") return PatchType::kApply;
  if (type == "application/strategic-merge-patch+json")
    return Unexpected(
        Error(Reason::kUnsupportedMediaType,
              "the body of the request was in an unknown format - accepted media types include: "
              "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  return Unexpected(
      Error(Reason::kUnsupportedMediaType, 415, "415: Unsupported Media Type", {.present = true}));
}

Status CheckPatchOptions(const RequestScope& scope, PatchType type) {
  api::FieldErrors errors;
  if (type == PatchType::kApply && scope.field_manager.empty())
    errors.Required(api::FieldPath("fieldManager"), "is required for apply patch");
  if (type != PatchType::kApply && scope.info.query.Has("force"))
    errors.Forbidden(api::FieldPath("force"), "may not be specified for non-apply patch");
  if (errors.empty()) return {};
  return Unexpected(errors.ToError("meta.k8s.io", "PatchOptions", ""));
}

Result<Patch> ParsePatch(PatchType type, std::string_view body) {
  if (type == PatchType::kApply) return ParseApply(body);
  Patch patch{type};
  json::ParseOptions options;
  options.duplicates = &patch.duplicates;
  auto value = json::Parse(body, options);
  if (!value && type != PatchType::kJson) return Unexpected(BadRequest("invalid JSON patch"));
  if (!value) return Unexpected(Undecodable(value.error().message()));
  patch.value = std::move(*value);
  const bool list = type == PatchType::kJson;
  if (!list && !patch.value.is_object() && !patch.value.is_null()) {
    const std::string why = "json: cannot unmarshal " + std::string(json::GoKindName(patch.value)) +
                            " into Go value of type map[string]interface {}";
    return Unexpected(type == PatchType::kStrategicMerge ? BadRequest(why) : Undecodable(why));
  }
  if (list) {
    patch.strict_errors = StrictErrorsOfJsonPatch(patch, body);
  } else {
    api::DecodeContext found;
    found.AddDuplicates(patch.duplicates);
    patch.strict_errors = std::move(found.strict_errors);
  }
  if (list && patch.value.size() > kMaxJsonPatchOperations)
    return Unexpected(Error(Reason::kRequestEntityTooLarge,
                            "The allowed maximum operations in a JSON patch is 10000, got " +
                                std::to_string(patch.value.size())));
  patch.names_version = NamesVersion(patch.value);
  return patch;
}

Result<json::Value> MergePatch(const api::TypeInfo& type, const Patch& patch, json::Value current) {
  switch (patch.type) {
    case PatchType::kJson: {
      auto patched = json::ApplyJsonPatch(current, patch.value);
      if (!patched) return Unexpected(patched.error().code() == 422 ? Rejected() : patched.error());
      if (patch.value.is_array())
        for (const json::Value& operation : patch.value.as_array())
          SortAlongPath(*patched, operation["path"].string_or(""));
      return patched;
    }
    case PatchType::kMerge: {
      if (patch.value.is_null()) return Unexpected(BadRequest("Invalid JSON Patch"));
      json::Value merged = json::ApplyMergePatch(std::move(current), patch.value);
      SortAlongPatch(merged, patch.value);
      return merged;
    }
    case PatchType::kStrategicMerge:
      return api::StrategicMerge(type, std::move(current), patch.value);
    case PatchType::kApply:
      break;
  }
  return Unexpected(InternalError("not a merge"));
}

Task<Status> PrepareApply(RequestScope& scope, const Patch& patch, const json::Value& current,
                          ChangesElsewhere& elsewhere) {
  elsewhere.clear();
  if (current.is_null() || !scope.resource->converter || !scope.resource->converter->IsRemote())
    co_return Status();
  // As if there were no conflicts: whether there are depends on what comes out here.
  const bool force = std::exchange(scope.force, true);
  const auto merged = ApplyPatch(scope, patch, current);
  scope.force = force;
  if (!merged) co_return Unexpected(merged.error());
  auto finding = FindChangesElsewhere(scope, *scope.resource, current, *merged);
  FLYBALL_CO_ASSIGN(elsewhere, co_await std::move(finding));
  co_return Status();
}

Status CheckAppliedText(RequestScope& scope, const Patch& patch) {
  if (patch.duplicates.empty()) return {};
  if (scope.field_validation == FieldValidation::kStrict)
    return Unexpected(BadRequest("error strict decoding patch: error converting YAML to JSON: " +
                                 json::YamlErrorsText(patch.duplicates)));
  if (scope.field_validation != FieldValidation::kWarn) return {};
  // Again after a conflict: each is said once.
  for (const std::string& duplicate : patch.duplicates)
    if (std::find(scope.warnings.begin(), scope.warnings.end(), duplicate) == scope.warnings.end())
      scope.warnings.push_back(duplicate);
  return {};
}

Result<json::Value> ApplyPatch(RequestScope& scope, const Patch& patch, const json::Value& current,
                               const ChangesElsewhere& elsewhere) {
  const auto& resource = *scope.resource;
  if (patch.type == PatchType::kApply) {
    FLYBALL_ASSIGN(json::Value applied,
                   ApplyConfiguration(scope, resource, current.is_null() ? nullptr : &current, patch.value,
                                      scope.info.subresource, elsewhere));
    FLYBALL_TRY(CheckAppliedText(scope, patch));
    return applied;
  }
  const auto merge = [&] {
    json::Value served = resource.conversion ? resource.conversion->from_stored(current) : current;
    return MergePatch(resource.kind->Type(), patch, std::move(served));
  };
  FLYBALL_ASSIGN(json::Value merged, merge());
  const StrictErrors errors{patch.strict_errors, patch.type == PatchType::kStrategicMerge};
  auto decoded = DecodeValue(scope, resource, std::move(merged), errors);
  if (decoded) return decoded;
  // The error shows the patched object, which decoding has taken.
  FLYBALL_ASSIGN(merged, merge());
  return Unexpected(PatchInvalid(resource.kind->Type(), patch, merged, decoded.error()));
}

}  // namespace flyball::server
