#include <string>

#include "api/kinds/access.h"
#include "api/kinds/checks.h"
#include "api/kinds/hooks.h"
#include "api/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
constexpr std::int64_t kClusterCritical = 2'000'000'000;
constexpr std::int64_t kNodeCritical = 2'000'001'000;

bool IsSystemClass(std::string_view name, std::int64_t value) {
  return (name == "system-cluster-critical" && value == kClusterCritical) ||
         (name == "system-node-critical" && value == kNodeCritical);
}

void ValidatePriorityClass(const Value& object, FieldErrors& errors) {
  const std::string_view name = Text(object["metadata"], "name");
  const std::int64_t value = Number(object, "value");
  if (name.starts_with("system-")) {
    if (!IsSystemClass(name, value)) {
      errors.Forbidden(
          FieldPath("metadata.name"),
          "priority class names with 'system-' prefix are reserved for system use only. error: " +
              std::string(name) + " is not a known system priority class");
    }
  } else if (value > kHighestUserPriority) {
    errors.Forbidden(FieldPath("value"), "maximum allowed value of a user defined priority is 1000000000");
  }
  if (Has(object, "preemptionPolicy")) {
    RequireOneOf(Text(object, "preemptionPolicy"), {"PreemptLowerPriority", "Never"},
                 FieldPath("preemptionPolicy"), errors);
  }
}

void ValidatePriorityClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["value"] != old["value"])
    errors.Forbidden(FieldPath("Value"), "may not be changed in an update.");
  ValidateUnchanged(object["preemptionPolicy"], old["preemptionPolicy"], FieldPath("preemptionPolicy"),
                    errors);
}

}  // namespace

const KindHooks kPriorityClassHooks = {
    .group = "scheduling.k8s.io",
    .kind = "PriorityClass",
    .validate = ValidatePriorityClass,
    .validate_update = ValidatePriorityClassUpdate,
    .generation = true,
};

}  // namespace flyball::api
