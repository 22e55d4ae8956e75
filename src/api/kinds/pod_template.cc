#include "api/kinds/hooks.h"
#include "api/kinds/pod_defaults.h"
#include "api/kinds/pod_spec.h"

namespace flyball::api {
namespace {

using json::Value;

void SetDefaults(Value& object) {
  if (Value* spec = object.FindPath({"template", "spec"})) SetPodSpecDefaults(*spec);
}

void Validate(const Value& object, FieldErrors& errors) {
  ValidatePodTemplateSpec(object["template"], FieldPath("template"), errors);
}

}  // namespace

const KindHooks kPodTemplateHooks = {
    .group = "",
    .kind = "PodTemplate",
    .set_defaults = SetDefaults,
    .validate = Validate,
    .generation = true,
    .allow_create_on_update = true,
    .return_deleted_object = true,
};

}  // namespace flyball::api
