#include <limits>
#include <string>

#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/job_spec.h"
#include "api/kinds/workloads/workload.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr const char* kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr const char* kJobName = "batch.kubernetes.io/job-name";
constexpr const char* kOldControllerUid = "controller-uid";
constexpr const char* kOldJobName = "job-name";
constexpr std::int64_t kDefaultBackoffLimit = 6;

void SetLabelsFromTemplate(Value& object) {
  const Value* template_labels = object.FindPath({"spec", "template", "metadata", "labels"});
  if (template_labels == nullptr || template_labels->size() == 0) return;
  const Value labels = *template_labels;
  SetIfZero(object["metadata"], "labels", labels);
}

void SetSpecDefaults(Value& spec) {
  if (!Has(spec, "completions") && !Has(spec, "parallelism")) spec["completions"] = 1;
  SetIfAbsent(spec, "parallelism", 1);
  const bool per_index = Has(spec, "backoffLimitPerIndex");
  SetIfAbsent(spec, "backoffLimit",
              per_index ? std::int64_t{std::numeric_limits<std::int32_t>::max()} : kDefaultBackoffLimit);
  SetIfAbsent(spec, "completionMode", "NonIndexed");
  SetIfAbsent(spec, "suspend", false);
  SetIfAbsent(spec, "manualSelector", false);
  SetIfAbsent(spec, "podReplacementPolicy", Has(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  Value* rules = spec.FindPath({"podFailurePolicy", "rules"});
  if (rules == nullptr || !rules->is_array()) return;
  for (Value& rule : rules->as_array()) {
    Value* conditions = rule.Find("onPodConditions");
    if (conditions == nullptr || !conditions->is_array()) continue;
    for (Value& condition : conditions->as_array()) SetIfZero(condition, "status", "True");
  }
}

void SetJobDefaults(Value& object) {
  SetTemplateDefaults(object);
  if (Value* spec = object.Find("spec"); spec != nullptr && spec->is_object()) SetSpecDefaults(*spec);
  SetLabelsFromTemplate(object);
}

// The controller finds the pods of a job by its uid; names are for people.
void GenerateSelector(Value& object) {
  const std::string uid(Text(object["metadata"], "uid"));
  const std::string name(Text(object["metadata"], "name"));
  Value& spec = object["spec"];
  Value& labels = spec["template"]["metadata"]["labels"];
  // Labels that a Job has from its template get the new ones too: upstream it is one map.
  const bool shared = labels.size() > 0 && object["metadata"]["labels"] == labels;
  SetIfAbsent(labels, kControllerUid, uid);
  SetIfAbsent(labels, kJobName, name);
  SetIfAbsent(labels, kOldControllerUid, uid);
  SetIfAbsent(labels, kOldJobName, name);
  if (shared) object["metadata"]["labels"] = Value(labels);
  SetIfAbsent(spec["selector"]["matchLabels"], kControllerUid, uid);
}

void PrepareJobForCreate(Value& object) {
  if (!Get(object["spec"], "manualSelector").bool_or(false)) GenerateSelector(object);
  SetLabelsFromTemplate(object);
}

void CheckHasLabel(const Value& metadata, const char* key, const std::string& want, const FieldPath& path,
                   FieldErrors& errors) {
  const Value* label = metadata["labels"].Find(key);
  const FieldPath here = path.Child("labels").Key(key);
  if (label == nullptr) return errors.Required(here, "must be '" + want + "'");
  if (label->string_or({}) != want) errors.Invalid(here, metadata["labels"], "must be '" + want + "'");
}

void ValidateGeneratedSelector(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const bool created = IsZero(object["metadata"]["resourceVersion"]);
  if (!created || spec["manualSelector"].bool_or(false) || !Has(spec, "selector")) return;
  const std::string uid(Text(object["metadata"], "uid"));
  const std::string name(Text(object["metadata"], "name"));
  if (uid.empty()) errors.Required(FieldPath("metadata.uid"));
  const FieldPath path("spec.template.metadata");
  const Value& metadata = spec["template"]["metadata"];
  CheckHasLabel(metadata, kOldControllerUid, uid, path, errors);
  CheckHasLabel(metadata, kOldJobName, name, path, errors);
  CheckHasLabel(metadata, kControllerUid, uid, path, errors);
  CheckHasLabel(metadata, kJobName, name, path, errors);
  const Value expected =
      json::Object{{kControllerUid, uid}, {kJobName, name}, {kOldControllerUid, uid}, {kOldJobName, name}};
  if (IsUsableSelector(spec["selector"]) && !SelectorMatches(spec["selector"], expected)) {
    errors.Invalid(FieldPath("spec.selector"), spec["selector"], "`selector` not auto-generated");
  }
}

void ValidateHostnames(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  if (Text(spec, "completionMode") != "Indexed" || Number(spec, "completions") <= 0) return;
  const std::string_view name = Text(object["metadata"], "name");
  const std::string longest = std::string(name) + "-" + std::to_string(Number(spec, "completions") - 1);
  if (DnsLabelProblems(longest).empty()) return;
  errors.Invalid(FieldPath("metadata.name"), name,
                 "will not able to create pod with invalid DNS label: " + longest);
}

void ValidateJob(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateGeneratedSelector(object, errors);
  ValidateJobSpec(spec, path, errors);
  const Value& selector = spec["selector"];
  if (selector.is_null()) {
    errors.Required(path.Child("selector"));
  } else {
    ValidateLabelSelector(selector, path.Child("selector"), errors);
  }
  if (IsUsableSelector(selector))
    CheckTemplateLabels(selector, spec["template"], path.Child("template"), errors);
  ValidateHostnames(object, errors);
}

void ValidateCompletionsUpdate(const Value& spec, const Value& old, const FieldPath& path,
                               FieldErrors& errors) {
  if (spec["completions"] == old["completions"]) return;
  const bool elastic =
      Text(spec, "completionMode") == "Indexed" && Has(spec, "completions") && Has(old, "completions");
  if (!elastic) return ValidateUnchanged(spec["completions"], old["completions"], path, errors);
  if (spec["completions"] == spec["parallelism"]) return;
  errors.Invalid(path, spec["completions"], "can only be modified in tandem with spec.parallelism");
}

// A suspended job that never ran may still be told where to run.
Value WithoutSchedulingDirectives(const Value& pod_template, const Value& old) {
  Value out = pod_template;
  const auto restore = [](Value& to, const Value& from, const char* field) {
    if (Has(from, field)) {
      to[field] = from[field];
    } else {
      Remove(to, field);
    }
  };
  for (const char* field : {"labels", "annotations"}) restore(out["metadata"], old["metadata"], field);
  for (const char* field : {"nodeSelector", "tolerations", "schedulingGates"})
    restore(out["spec"], old["spec"], field);
  if (Has(old["spec"]["affinity"], "nodeAffinity") || Has(Get(out["spec"], "affinity"), "nodeAffinity")) {
    restore(out["spec"]["affinity"], old["spec"]["affinity"], "nodeAffinity");
    if (out["spec"]["affinity"].size() == 0 && !Has(old["spec"], "affinity")) Remove(out["spec"], "affinity");
  }
  return out;
}

// A suspended job without running pods, whose template may change where and with what its pods will run.
bool IsAtRest(const Value& job) {
  const Value& status = job["status"];
  bool suspended = false;
  for (const Value& condition : Items(status["conditions"]))
    suspended |= Text(condition, "type") == "Suspended" && Text(condition, "status") == "True";
  return job["spec"]["suspend"].bool_or(false) && (!Has(status, "startTime") || suspended) &&
         Number(status, "active") == 0;
}

void RestoreResources(Value& spec, const Value& old, const char* list) {
  Value* containers = spec.Find(list);
  if (containers == nullptr || containers->size() != old[list].size()) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    Value& container = containers->as_array()[i];
    const Value& before = old[list].as_array()[i];
    if (Text(container, "name") == Text(before, "name")) container["resources"] = before["resources"];
  }
}

Value InternalJobField(std::string_view field, const Value& value) {
  if (field == "podFailurePolicy") return GoInternal("io.k8s.api.batch.v1.PodFailurePolicy", value);
  if (field == "successPolicy") return GoInternal("io.k8s.api.batch.v1.SuccessPolicy", value);
  return value;
}

void ValidateJobUpdate(const Value& object, const Value& old_object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& old = old_object["spec"];
  ValidateCompletionsUpdate(spec, old, path.Child("completions"), errors);
  ValidateUnchanged(spec["selector"], old["selector"], path.Child("selector"), errors);
  Value pod_template = spec["template"];
  if (IsAtRest(old_object)) {
    pod_template = WithoutSchedulingDirectives(pod_template, old["template"]);
    for (const char* list : {"containers", "initContainers"})
      RestoreResources(pod_template["spec"], old["template"]["spec"], list);
    // Only the spec is compared then.
    if (Get(pod_template, "spec") != old["template"]["spec"])
      errors.Invalid(path.Child("template.spec"),
                     GoInternal("io.k8s.api.core.v1.PodSpec", Get(pod_template, "spec")), kImmutableText);
  } else if (pod_template != old["template"]) {
    errors.Invalid(path.Child("template"), GoInternal("io.k8s.api.core.v1.PodTemplateSpec", pod_template),
                   kImmutableText);
  }
  for (const char* field :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
    ValidateUnchanged(InternalJobField(field, spec[field]), InternalJobField(field, old[field]),
                      path.Child(field), errors);
  }
}

}  // namespace

const KindHooks kJobHooks = {
    .group = "batch",
    .kind = "Job",
    .set_defaults = SetJobDefaults,
    .prepare_for_create = PrepareJobForCreate,
    .validate = ValidateJob,
    .validate_update = ValidateJobUpdate,
    .validate_status_update = ValidateJobStatusUpdate,
    .generation = true,
    .orphan_dependents = true,
    .warnings = WarnOfTemplate,
    .name_warning = kPodNamesWarning,
};

}  // namespace flyball::api
