#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/values/base64.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kMaxGroupPriority = 20000, kMaxVersionPriority = 1000;

// What this server serves itself is there at once.
void PrepareApiServiceForCreate(Value& object) {
  if (Has(object["spec"], "service")) return;
  Value condition = json::Object{{"type", "Available"}, {"status", "True"}};
  condition["lastTransitionTime"] = Value(object["metadata"]["creationTimestamp"]);
  condition["reason"] = "Local";
  condition["message"] = "Local APIServices are always available";
  object["status"]["conditions"] = json::Array{std::move(condition)};
}

void ValidateApiServiceVersion(const Value& object, const Value& spec, FieldErrors& errors) {
  const FieldPath path("spec");
  const std::string version(Text(spec, "version")), group(Text(spec, "group"));
  const std::string wanted = version + "." + group;
  if (Text(object["metadata"], "name") != wanted)
    errors.Invalid(FieldPath("metadata.name"), Text(object["metadata"], "name"),
                   "must be `spec.version+\".\"+spec.group`: \"" + wanted + "\"");
  if (group.empty() && version != "v1")
    errors.Required(path.Child("group"), "only v1 may have an empty group and it better be legacy kube");
  if (!group.empty()) CheckFormat("dns-subdomain", group, path.Child("group"), errors);
  CheckFormat("dns-1035-label", version, path.Child("version"), errors);
}

void CheckPriority(const Value& spec, const char* field, std::int64_t max, FieldErrors& errors) {
  const std::int64_t priority = Number(spec, field);
  if (priority > 0 && priority <= max) return;
  errors.Invalid(FieldPath("spec").Child(field), priority,
                 "must be positive and less than " + std::to_string(max));
}

void ValidateLocalService(const Value& spec, FieldErrors& errors) {
  const FieldPath path("spec");
  if (const std::string_view bundle = Text(spec, "caBundle"); !bundle.empty()) {
    std::string bytes;
    std::size_t bad = 0;
    DecodeBase64(bundle, bytes, bad);
    errors.Invalid(path.Child("caBundle"), std::to_string(bytes.size()) + " bytes",
                   "local APIServices may not have a caBundle");
  }
  if (spec["insecureSkipTLSVerify"].bool_or(false))
    errors.Invalid(path.Child("insecureSkipTLSVerify"), true,
                   "local APIServices may not have insecureSkipTLSVerify");
}

void ValidateApiService(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  ValidateApiServiceVersion(object, spec, errors);
  CheckPriority(spec, "groupPriorityMinimum", kMaxGroupPriority, errors);
  CheckPriority(spec, "versionPriority", kMaxVersionPriority, errors);
  if (!Has(spec, "service")) return ValidateLocalService(spec, errors);
  const FieldPath path("spec.service");
  RequireMembers(spec["service"], {"namespace", "name"}, path, errors);
  for (const std::string& problem : PortNumberProblems(Number(spec["service"], "port")))
    errors.Invalid(path.Child("port"), spec["service"]["port"], "port is not valid: " + problem);
  if (spec["insecureSkipTLSVerify"].bool_or(false) && !Text(spec, "caBundle").empty())
    errors.Invalid(FieldPath("spec.insecureSkipTLSVerify"), true, "may not be true if caBundle is present");
}

}  // namespace

const KindHooks kApiServiceHooks = {
    .group = "apiregistration.k8s.io",
    .kind = "APIService",
    .prepare_for_create = PrepareApiServiceForCreate,
    .validate = ValidateApiService,
    .name_format = "path-segment",
    .status_keeps_metadata = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
