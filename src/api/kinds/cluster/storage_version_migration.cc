#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

// All problems in one text, as upstream joins them.
void CheckJoined(const Problems& problems, const Value& value, const FieldPath& path, FieldErrors& errors) {
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : ",") + problem;
  if (!text.empty()) errors.Invalid(path, value, text);
}

void ValidateMigration(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec.resource");
  const Value& resource = object["spec"]["resource"];
  if (Text(resource, "resource").empty()) {
    errors.Required(path.Child("resource"), "resource is required to be set");
  } else {
    CheckJoined(Dns1035LabelProblems(Text(resource, "resource")), resource["resource"],
                path.Child("resource"), errors);
  }
  if (!Text(resource, "group").empty())
    CheckJoined(DnsSubdomainProblems(Text(resource, "group")), resource["group"], path.Child("group"),
                errors);
}

void ValidateMigrationUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"], old["spec"], FieldPath("spec"), errors);
}

bool ConditionHolds(const Value& status, std::string_view type) {
  for (const Value& condition : Items(status["conditions"]))
    if (Text(condition, "type") == type && Text(condition, "status") == "True") return true;
  return false;
}

void ValidateMigrationStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  const Value& status = object["status"];
  const std::string_view version = Text(status, "resourceVersion");
  for (const char c : version) {
    if (IsDigit(c)) continue;
    errors.Invalid(path.Child("resourceVersion"), version,
                   "resource version is not well formed: " + std::string(version));
    break;
  }
  const std::string_view before = Text(old["status"], "resourceVersion");
  if (!before.empty() && before != version)
    errors.Invalid(path.Child("resourceVersion"), version, kImmutableText);
  const bool succeeded = ConditionHolds(status, "Succeeded"), failed = ConditionHolds(status, "Failed");
  const auto refuse = [&](const char* why) {
    errors.Invalid(path.Child("conditions"), status["conditions"], why);
  };
  if (succeeded && failed) refuse("Both success and failed conditions cannot be true at the same time");
  if (ConditionHolds(old["status"], "Succeeded") && !succeeded)
    refuse("Success condition cannot be set to false once it is true");
  if (ConditionHolds(old["status"], "Failed") && !failed)
    refuse("Failed condition cannot be set to false once it is true");
}

}  // namespace

const KindHooks kStorageVersionMigrationHooks = {
    .group = "storagemigration.k8s.io",
    .kind = "StorageVersionMigration",
    .validate = ValidateMigration,
    .validate_update = ValidateMigrationUpdate,
    .validate_status_update = ValidateMigrationStatusUpdate,
    .status_keeps_metadata = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
