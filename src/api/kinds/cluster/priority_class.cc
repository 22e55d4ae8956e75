#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
constexpr std::int64_t kClusterCritical = 2'000'000'000;
constexpr std::int64_t kNodeCritical = 2'000'001'000;

// Why the server's own classes are not like this one; "" if one is.
std::string SystemClassProblem(std::string_view name, std::int64_t value, bool global_default) {
  const bool cluster = name == "system-cluster-critical";
  if (!cluster && name != "system-node-critical")
    return std::string(name) + " is not a known system priority class";
  const std::int64_t must = cluster ? kClusterCritical : kNodeCritical;
  if (value != must)
    return "value of " + std::string(name) + " PriorityClass must be " + std::to_string(must);
  return global_default ? "globalDefault of " + std::string(name) + " PriorityClass must be false" : "";
}

void ValidatePriorityClass(const Value& object, FieldErrors& errors) {
  const std::string_view name = Text(object["metadata"], "name");
  const std::int64_t value = Number(object, "value");
  if (name.starts_with("system-")) {
    const std::string problem = SystemClassProblem(name, value, object["globalDefault"].bool_or(false));
    if (!problem.empty())
      errors.Forbidden(
          FieldPath("metadata.name"),
          "priority class names with 'system-' prefix are reserved for system use only. error: " + problem);
  } else if (value > kHighestUserPriority) {
    errors.Forbidden(FieldPath("value"), "maximum allowed value of a user defined priority is 1000000000");
  }
  if (Has(object, "preemptionPolicy")) {
    RequireOneOf(Text(object, "preemptionPolicy"), {"PreemptLowerPriority", "Never"},
                 FieldPath("preemptionPolicy"), errors);
  }
}

// Changes are not counted: it stays the first generation.
void CountPriorityClass(Value& object) {
  object["metadata"]["generation"] = 1;
}

void ValidatePriorityClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["value"] != old["value"])
    errors.Forbidden(FieldPath("value"), "may not be changed in an update.");
  ValidateUnchanged(object["preemptionPolicy"], old["preemptionPolicy"], FieldPath("preemptionPolicy"),
                    errors);
}

}  // namespace

const KindHooks kPriorityClassHooks = {
    .group = "scheduling.k8s.io",
    .kind = "PriorityClass",
    .prepare_for_create = CountPriorityClass,
    .validate = ValidatePriorityClass,
    .validate_update = ValidatePriorityClassUpdate,
    .validate_update_alone = true,
};

}  // namespace flyball::api
