#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateLease(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& seconds = spec["leaseDurationSeconds"];
  if (!seconds.is_null() && seconds.int_or(0) <= 0) {
    errors.Invalid(path.Child("leaseDurationSeconds"), seconds, "must be greater than 0");
  }
  CheckNotNegative(spec, {"leaseTransitions"}, path, errors);
  if (!Text(spec, "preferredHolder").empty() && Text(spec, "strategy").empty()) {
    errors.Forbidden(path.Child("preferredHolder"), "may only be specified when strategy is defined");
  }
}

}  // namespace

const KindHooks kLeaseHooks = {
    .group = "coordination.k8s.io",
    .kind = "Lease",
    .validate = ValidateLease,
    .allow_create_on_update = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
