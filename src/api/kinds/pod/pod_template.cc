#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"

namespace flyball::api {
namespace {

using json::Value;

void SetPodTemplateDefaults(Value& object) {
  if (Value* spec = object.FindPath({"template", "spec"})) SetPodSpecDefaults(*spec);
}

void ValidatePodTemplate(const Value& object, FieldErrors& errors) {
  ValidatePodTemplateSpec(object["template"], FieldPath("template"), errors);
}

void WarnPodTemplate(const Value& object, std::vector<std::string>& out) {
  WarnOfPodSpec(object["template"], "template.", out);
}

}  // namespace

const KindHooks kPodTemplateHooks = {
    .group = "",
    .kind = "PodTemplate",
    .set_defaults = SetPodTemplateDefaults,
    .validate = ValidatePodTemplate,
    .generation = true,
    .allow_create_on_update = true,
    .return_deleted_object = true,
    .warnings = WarnPodTemplate,
};

}  // namespace flyball::api
