#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateControllerRevision(const Value& object, FieldErrors& errors) {
  CheckNotNegative(object, {"revision"}, FieldPath(), errors);
  if (object["data"].is_null()) errors.Required(FieldPath("data"), "data is mandatory");
}

void ValidateControllerRevisionUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["data"], old["data"], FieldPath("data"), errors);
}

}  // namespace

const KindHooks kControllerRevisionHooks = {
    .group = "apps",
    .kind = "ControllerRevision",
    .validate = ValidateControllerRevision,
    .validate_update = ValidateControllerRevisionUpdate,
};

}  // namespace flyball::api
