// What a Job's status may become, whoever writes it: clients rely on how a Job ends. Only what changes is
// looked at, so that a status that was wrong before does not stop the rest of it.
#include "api/kinds/workloads/job_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/values/time.h"

namespace flyball::api {
namespace {

using json::Value;

bool IsTrue(const Value& status, std::string_view type) {
  for (const Value& condition : Items(status["conditions"]))
    if (Text(condition, "type") == type) return Text(condition, "status") == "True";
  return false;
}

bool IsFinished(const Value& status) {
  return IsTrue(status, "Complete") || IsTrue(status, "Failed");
}

bool IsBefore(const Value& time, const Value& other) {
  const auto a = ParseTime(time.string_or({})), b = ParseTime(other.string_or({}));
  return a && b && a->ToTimePoint() < b->ToTimePoint();
}

// A status and the one before it.
class JobStatusRules {
 public:
  JobStatusRules(const Value& job, const Value& old, FieldErrors& errors)
      : spec_(job["spec"]), now_(job["status"]), before_(old["status"]), errors_(errors) {}

  void Check() {
    CheckConditionPairs();
    CheckTimes();
    CheckInterim();
    CheckFinished();
    if (!now_["ready"].is_null() && (Changed("ready") || Changed("active")) &&
        Number(now_, "ready") > Number(now_, "active"))
      errors_.Invalid(path_.Child("ready"), now_["ready"], "cannot set more ready pods than active");
    if (IsTrue(now_, "SuccessCriteriaMet") && IsTrue(now_, "Failed"))
      RefuseConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (IsTrue(now_, "SuccessCriteriaMet") && IsTrue(now_, "FailureTarget"))
      RefuseConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  }

 private:
  bool Changed(std::string_view member) const { return now_[member] != before_[member]; }
  bool ConditionChanged(std::string_view type) const { return IsTrue(now_, type) != IsTrue(before_, type); }
  void RefuseConditions(std::string_view why) { errors_.InvalidOmitted(path_.Child("conditions"), why); }

  void CheckConditionPairs() {
    if (!IsTrue(now_, "Complete")) return;
    if (IsTrue(now_, "Failed") && (ConditionChanged("Complete") || ConditionChanged("Failed")))
      RefuseConditions("cannot set Complete=True and Failed=true conditions");
    if (IsTrue(now_, "FailureTarget") && (ConditionChanged("Complete") || ConditionChanged("FailureTarget")))
      RefuseConditions("cannot set Complete=True and FailureTarget=true conditions");
  }

  void CheckTimes() {
    const Value& end = now_["completionTime"];
    const FieldPath path = path_.Child("completionTime");
    if (ConditionChanged("Complete") || Changed("completionTime")) {
      if (!end.is_null() && !IsTrue(now_, "Complete"))
        errors_.Invalid(path, end, "cannot set completionTime when there is no Complete=True condition");
      if (end.is_null() && IsTrue(now_, "Complete"))
        errors_.Required(path, "completionTime is required for Complete jobs");
    }
    if ((Changed("startTime") || Changed("completionTime")) && IsBefore(end, now_["startTime"]))
      errors_.Invalid(path, end, "completionTime cannot be set before startTime");
  }

  // The condition that says how it will end comes first, while its pods still end.
  void CheckInterim() {
    if (ConditionChanged("Failed") && IsTrue(now_, "Failed") && !IsTrue(now_, "FailureTarget"))
      RefuseConditions("cannot set Failed=True condition without the FailureTarget=true condition");
    if (ConditionChanged("Complete") && IsTrue(now_, "Complete") && !IsTrue(now_, "SuccessCriteriaMet"))
      RefuseConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  }

  void CheckFinished() {
    if (!IsFinished(now_)) return;
    const bool ends = !IsFinished(before_);
    const bool suspended = spec_["suspend"].bool_or(false);
    const bool nothing_to_do = suspended && Has(spec_, "completions") && Number(spec_, "completions") == 0;
    if ((ends || Changed("active")) && Number(now_, "active") > 0)
      errors_.Invalid(path_.Child("active"), now_["active"], "active>0 is invalid for finished job");
    if ((ends || (Changed("startTime") && !suspended)) && !nothing_to_do && !Has(now_, "startTime"))
      errors_.Required(path_.Child("startTime"), "startTime is required for finished job");
    if ((ends || Changed("terminating")) && Number(now_, "terminating") > 0)
      errors_.Invalid(path_.Child("terminating"), now_["terminating"],
                      "terminating>0 is invalid for finished job");
  }

  const FieldPath path_{"status"};
  const Value &spec_, &now_, &before_;
  FieldErrors& errors_;
};

}  // namespace

void ValidateJobStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  CheckNotNegative(object["status"], {"active", "succeeded", "failed", "ready", "terminating"},
                   FieldPath("status"), errors);
  JobStatusRules(object, old, errors).Check();
}

}  // namespace flyball::api
