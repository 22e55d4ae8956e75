#include <algorithm>
#include <string>

#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/job_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/values/cron_schedule.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

// The controller appends eleven characters to make the names of its jobs.
constexpr std::size_t kCronJobMaxName = 52;

void SetCronJobDefaults(Value& object) {
  Value* spec = object.FindPath({"spec", "jobTemplate", "spec", "template", "spec"});
  if (spec != nullptr) SetPodSpecDefaults(*spec);
}

void ValidateSchedule(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view schedule = Text(spec, "schedule");
  if (schedule.empty()) return errors.declarative().Required(path);
  if (const auto parsed = ParseCronSchedule(schedule); !parsed) {
    errors.Invalid(path, schedule, parsed.error().message());
  }
  if (schedule.find("TZ") != std::string_view::npos) {
    errors.Invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  }
}

void ValidateTimeZone(const Value& zone, const FieldPath& path, FieldErrors& errors) {
  if (zone.is_null()) return;
  const std::string name(zone.string_or({}));
  if (name.empty()) return errors.Invalid(path, zone, "timeZone must be nil or non-empty string");
  if (LowerCase(name) == "local") {
    return errors.Invalid(
        path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  }
  if (!IsTimeZone(name)) errors.Invalid(path, zone, "unknown time zone " + name);
}

void ValidateJobTemplate(const Value& job_template, const FieldPath& path, FieldErrors& errors) {
  const Value& spec = job_template["spec"];
  ValidateJobSpec(spec, path.Child("spec"), errors);
  if (Has(spec, "selector")) {
    errors.Invalid(path.Child("spec").Child("selector"), spec["selector"],
                   "`selector` will be auto-generated");
  }
  if (spec["manualSelector"].bool_or(false)) {
    errors.NotSupported(path.Child("spec").Child("manualSelector"), true, {"nil", "false"});
  }
}

void ValidateCronJob(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateSchedule(spec, path.Child("schedule"), errors);
  CheckNotNegative(spec, {"startingDeadlineSeconds"}, path, errors);
  ValidateTimeZone(spec["timeZone"], path.Child("timeZone"), errors);
  RequireOneOf(Text(spec, "concurrencyPolicy"), {"Allow", "Forbid", "Replace"},
               path.Child("concurrencyPolicy"), errors);
  ValidateJobTemplate(spec["jobTemplate"], path.Child("jobTemplate"), errors);
  CheckNotNegative(spec, {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}, path, errors);
  const std::string_view name = Text(object["metadata"], "name");
  if (name.size() > kCronJobMaxName)
    errors.Invalid(FieldPath("metadata.name"), name, MaxLengthText(kCronJobMaxName));
}

void WarnCronJob(const Value& object, std::vector<std::string>& out) {
  WarnOfPodSpec(object["spec"]["jobTemplate"]["spec"]["template"], "spec.jobTemplate.spec.template.", out);
}

}  // namespace

const KindHooks kCronJobHooks = {
    .group = "batch",
    .kind = "CronJob",
    .set_defaults = SetCronJobDefaults,
    .validate = ValidateCronJob,
    .generation = true,
    .warnings = WarnCronJob,
    .name_warning = kPodNamesWarning,
};

}  // namespace flyball::api
