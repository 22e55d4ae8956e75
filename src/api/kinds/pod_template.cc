#include "api/kinds/hooks.h"
#include "api/kinds/pod_defaults.h"
#include "api/kinds/pod_spec.h"
#include "api/kinds/pod_warnings.h"

namespace flyball::api {
namespace {

using json::Value;

void SetDefaults(Value& object) {
  if (Value* spec = object.FindPath({"template", "spec"})) SetPodSpecDefaults(*spec);
}

void Validate(const Value& object, FieldErrors& errors) {
  ValidatePodTemplateSpec(object["template"], FieldPath("template"), errors);
}

void Warn(const Value& object, std::vector<std::string>& out) {
  WarnOfPodSpec(object["template"], "template.", out);
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
    .warnings = Warn,
};

}  // namespace flyball::api
