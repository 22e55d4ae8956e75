#include "api/kinds/workloads/job_spec.h"

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/go_dump.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kMaxIndexed = 100'000;
constexpr std::int64_t kMaxWithManyCompletions = 10'000;

bool IsIndexed(const Value& spec) {
  return Text(spec, "completionMode") == "Indexed";
}

void ValidateManyCompletions(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "backoffLimitPerIndex") || Number(spec, "completions") <= kMaxIndexed) return;
  if (!Has(spec, "maxFailedIndexes")) {
    errors.Required(path.Child("maxFailedIndexes"), "must be specified when completions is above 100000");
  }
  for (const char* field : {"parallelism", "maxFailedIndexes"}) {
    if (!Has(spec, field) || Number(spec, field) <= kMaxWithManyCompletions) continue;
    errors.Invalid(
        path.Child(field), spec[field],
        "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit "
        "per index");
  }
}

void ValidateIndexed(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "completions"))
    errors.Required(path.Child("completions"), "when completion mode is Indexed");
  if (Number(spec, "parallelism") > kMaxIndexed) {
    errors.Invalid(path.Child("parallelism"), spec["parallelism"],
                   "must be less than or equal to 100000 when completion mode is Indexed");
  }
  if (Has(spec, "completions") && Number(spec, "maxFailedIndexes") > Number(spec, "completions")) {
    errors.Invalid(path.Child("maxFailedIndexes"), spec["maxFailedIndexes"],
                   "must be less than or equal to completions");
  }
  if (Number(spec, "maxFailedIndexes") > kMaxIndexed) {
    errors.Invalid(path.Child("maxFailedIndexes"), spec["maxFailedIndexes"],
                   "must be less than or equal to 100000");
  }
  ValidateManyCompletions(spec, path, errors);
}

void ValidateCompletionMode(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (Has(spec, "completionMode")) {
    CheckOneOf(Text(spec, "completionMode"), {"NonIndexed", "Indexed"}, path.Child("completionMode"), errors);
  }
  if (IsIndexed(spec)) {
    ValidateIndexed(spec, path, errors);
  } else if (!Has(spec, "completionMode") || Text(spec, "completionMode") == "NonIndexed") {
    for (const char* field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (Has(spec, field))
        errors.Invalid(path.Child(field), spec[field], "requires indexed completion mode");
    }
  }
  if (Has(spec, "maxFailedIndexes") && !Has(spec, "backoffLimitPerIndex")) {
    errors.declarative().Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
  }
}

void ValidateReplacementPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "podReplacementPolicy")) return;
  if (Has(spec, "podFailurePolicy")) {
    return CheckOneOf(Text(spec, "podReplacementPolicy"), {"Failed"}, path, errors);
  }
  CheckOneOf(Text(spec, "podReplacementPolicy"), {"Failed", "TerminatingOrFailed"}, path, errors);
}

void ValidateManagedBy(const Value& managed_by, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxManagedBy = 63;
  if (managed_by.is_null()) return;
  const std::string_view name = managed_by.string_or({});
  const std::size_t slash = name.find('/');
  if (name.empty()) {
    errors.Required(path);
  } else if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    errors.Invalid(path, name, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  } else {
    CheckFormat("dns-subdomain", name.substr(0, slash), path, errors);
  }
  if (name.size() > kMaxManagedBy) errors.TooLong(path, kMaxManagedBy);
}

void ValidateRestartPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view policy = Text(spec["template"]["spec"], "restartPolicy");
  if (policy == "Always" || policy.empty()) {
    errors.Required(path, "valid values: \"OnFailure\", \"Never\"");
  } else if (policy == "OnFailure" && Has(spec, "podFailurePolicy")) {
    errors.Invalid(path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
  } else {
    CheckOneOf(policy, {"OnFailure", "Never"}, path, errors);
  }
}

}  // namespace

void ValidateJobSpec(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  CheckNotNegative(spec,
                   {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                    "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"},
                   path, errors);
  ValidateManagedBy(spec["managedBy"], path.Child("managedBy"), errors);
  ValidateCompletionMode(spec, path, errors);
  if (Has(spec, "podFailurePolicy")) ValidatePodFailurePolicy(spec, path.Child("podFailurePolicy"), errors);
  if (Has(spec, "successPolicy")) {
    if (IsIndexed(spec)) {
      ValidateSuccessPolicy(spec, path.Child("successPolicy"), errors);
    } else {
      errors.Invalid(path.Child("successPolicy"),
                     GoInternal("io.k8s.api.batch.v1.SuccessPolicy", spec["successPolicy"]),
                     "requires indexed completion mode");
    }
  }
  ValidateReplacementPolicy(spec, path.Child("podReplacementPolicy"), errors);
  const FieldPath here = path.Child("template");
  ValidatePodTemplateSpec(spec["template"], here, errors);
  ValidateRestartPolicy(spec, here.Child("spec").Child("restartPolicy"), errors);
}

}  // namespace flyball::api
