#include "server/registry/write_options.h"

#include <algorithm>
#include <charconv>

#include "api/rules/field_error.h"
#include "json/json.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxFieldManager = 128;

bool IsDryRunAll(const std::vector<std::string_view>& values) {
  return std::all_of(values.begin(), values.end(), [](std::string_view v) { return v == "All"; });
}

void CheckDryRun(const std::vector<std::string_view>& values, api::FieldErrors& errors) {
  if (IsDryRunAll(values)) return;
  json::Array shown(values.begin(), values.end());
  errors.NotSupported(api::FieldPath("dryRun"), json::Value(std::move(shown)), {"All"});
}

void CheckFieldManager(const std::string& manager, api::FieldErrors& errors) {
  const api::FieldPath path("fieldManager");
  if (manager.size() > kMaxFieldManager) errors.TooLong(path, kMaxFieldManager);
  for (std::size_t i = 0; i < manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(manager[i]);
    if (c >= 0x20 && c != 0x7f) continue;
    char code[8];
    std::snprintf(code, sizeof code, "%04X", static_cast<unsigned>(c));
    errors.Invalid(path, manager,
                   std::string("invalid character U+") + code + " (at position " + std::to_string(i) + ")");
  }
}

bool ReadFieldValidation(RequestScope& scope, api::FieldErrors& errors) {
  const auto text = scope.info.query.Get("fieldValidation");
  if (text.empty() || text == "Warn") {
    scope.field_validation = FieldValidation::kWarn;
  } else if (text == "Strict") {
    scope.field_validation = FieldValidation::kStrict;
  } else if (text == "Ignore") {
    scope.field_validation = FieldValidation::kIgnore;
  } else {
    errors.NotSupported(api::FieldPath("fieldValidation"), text, {"", "Ignore", "Strict", "Warn"});
    return false;
  }
  return true;
}

void CheckPropagation(const DeleteOptions& options, api::FieldErrors& errors) {
  const api::FieldPath path("propagationPolicy");
  if (!options.propagation_policy) return;
  const auto& policy = *options.propagation_policy;
  if (options.orphan_dependents)
    errors.Invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set");
  if (policy != "Foreground" && policy != "Background" && policy != "Orphan")
    errors.NotSupported(path, policy, {"Foreground", "Background", "Orphan", "nil"});
}

constexpr std::string_view kUnreadableOnly = "ignoreStoreReadErrorWithClusterBreakingPotential";

// Such a delete is not graceful and has no conditions.
void CheckUnreadableOnly(const RequestScope& scope, const DeleteOptions& options, api::FieldErrors& errors) {
  if (!options.unreadable_only) return;
  const auto refuse = [&](bool wrong, const char* why) {
    if (wrong) errors.Invalid(api::FieldPath(std::string(kUnreadableOnly)), true, why);
  };
  refuse(options.propagation_policy.has_value(), "cannot be set together with .propagationPolicy");
  refuse(options.orphan_dependents.has_value(), "cannot be set together with .orphanDependents");
  refuse(options.grace_seconds.has_value(), "cannot be set together with .gracePeriodSeconds");
  refuse(options.uid || options.resource_version, "cannot be set together with .preconditions");
  refuse(scope.info.verb == "deletecollection",
         "is not allowed with DELETECOLLECTION, try again after removing the option");
}

std::optional<std::string> NonEmpty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(std::string(text));
}

Result<DeleteOptions> OptionsFromBody(RequestScope& scope, const net::Request& request,
                                      std::vector<std::string_view>& dry_run, json::Value& body) {
  // Clients name the group of what they delete; upstream has the type in every version there is.
  const AcceptsVersion any = [](std::string_view) { return true; };
  // Upstream decodes options with another codec than objects: it is not strict, and its errors are its own.
  scope.field_validation = FieldValidation::kIgnore;
  FLYBALL_ASSIGN(const MediaType media, BodyMediaType(request.headers.Get("content-type")));
  if (media == MediaType::kJson)
    if (const auto parsed = json::Parse(request.body); !parsed)
      return Unexpected(
          BadRequest("couldn't get version/kind; json parse error: " + parsed.error().message()));
  FLYBALL_ASSIGN(body, DecodeBody(scope, api::DeleteOptionsType(), "v1", "DeleteOptions",
                                  request.headers.Get("content-type"), request.body, any));
  DeleteOptions options;
  if (const auto* grace = body.Find("gracePeriodSeconds"); grace && grace->is_int())
    options.grace_seconds = grace->as_int();
  if (const auto* orphan = body.Find("orphanDependents"); orphan && orphan->is_bool())
    options.orphan_dependents = orphan->as_bool();
  options.propagation_policy = NonEmpty(body["propagationPolicy"].string_or(""));
  options.unreadable_only = body[kUnreadableOnly].bool_or(false);
  options.uid = NonEmpty(body["preconditions"]["uid"].string_or(""));
  options.resource_version = NonEmpty(body["preconditions"]["resourceVersion"].string_or(""));
  if (const auto& list = body["dryRun"]; list.is_array())
    for (const auto& item : list.as_array()) dry_run.push_back(item.string_or(""));
  return options;
}

Result<DeleteOptions> OptionsFromQuery(const Query& query) {
  DeleteOptions options;
  if (const auto text = query.Get("gracePeriodSeconds"); !text.empty()) {
    std::int64_t seconds = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (ec != std::errc() || end != text.data() + text.size())
      return Unexpected(
          BadRequest("strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax"));
    options.grace_seconds = seconds;
  }
  if (query.Has("orphanDependents")) options.orphan_dependents = query.Bool("orphanDependents");
  options.propagation_policy = NonEmpty(query.Get("propagationPolicy"));
  options.unreadable_only = query.Bool(kUnreadableOnly);
  return options;
}

}  // namespace

Status ReadWriteOptions(RequestScope& scope, std::string_view kind) {
  const auto& query = scope.info.query;
  api::FieldErrors errors;
  const auto dry_run = query.GetAll("dryRun");
  CheckDryRun(dry_run, errors);
  scope.dry_run = !dry_run.empty();
  scope.field_manager = query.Get("fieldManager");
  scope.force = query.Bool("force");
  CheckFieldManager(scope.field_manager, errors);
  ReadFieldValidation(scope, errors);
  if (errors.empty()) return {};
  return Unexpected(errors.ToError("meta.k8s.io", kind, ""));
}

Result<DeleteOptions> ReadDeleteOptions(RequestScope& scope, const net::Request& request) {
  std::vector<std::string_view> dry_run;
  DeleteOptions options;
  json::Value body;  // dry_run may view into it
  // A body takes the place of the query, also of its dryRun.
  if (!request.body.empty()) {
    FLYBALL_ASSIGN(options, OptionsFromBody(scope, request, dry_run, body));
  } else {
    FLYBALL_ASSIGN(options, OptionsFromQuery(scope.info.query));
    dry_run = scope.info.query.GetAll("dryRun");
  }
  api::FieldErrors errors;
  CheckPropagation(options, errors);
  CheckDryRun(dry_run, errors);
  CheckUnreadableOnly(scope, options, errors);
  if (!errors.empty()) return Unexpected(errors.ToError("meta.k8s.io", "DeleteOptions", ""));
  options.dry_run = !dry_run.empty();
  return options;
}

Status CheckName(const RequestScope& scope, const json::Value& object) {
  const auto name = object["metadata"]["name"].string_or("");
  if (name.empty())
    return Unexpected(BadRequest("the name of the object (" + scope.info.name +
                                 " based on URL) was undeterminable: name must be provided"));
  if (name != scope.info.name)
    return Unexpected(BadRequest("the name of the object (" + std::string(name) +
                                 ") does not match the name on the URL (" + scope.info.name + ")"));
  const auto space = object["metadata"]["namespace"].string_or("");
  if (!space.empty() && space != scope.info.namespace_name && scope.resource->kind->namespaced)
    return Unexpected(
        BadRequest("the namespace of the provided object does not match the namespace sent on the request"));
  return {};
}

}  // namespace flyball::server
