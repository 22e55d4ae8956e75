#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/node_labels.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateRuntimeClass(const Value& object, FieldErrors& errors) {
  const std::string_view handler = Text(object, "handler");
  if (handler.empty()) {
    errors.declarative().Required(FieldPath("handler"));
  } else {
    CheckFormat("dns-label", handler, FieldPath("handler"), errors);
  }
  if (Has(object["overhead"], "podFixed")) {
    const Value overhead = json::Object{{"limits", object["overhead"]["podFixed"]}};
    ValidateResourceRequirements(overhead, {}, FieldPath("overhead"), errors);
  }
  const Value& scheduling = object["scheduling"];
  if (scheduling.is_null()) return;
  const FieldPath path("scheduling");
  ValidateLabels(scheduling["nodeSelector"], path.Child("nodeSelector"), errors);
  ValidateTolerations(scheduling["tolerations"], path.Child("tolerations"), errors);
}

void ValidateRuntimeClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (Text(object, "handler") != Text(old, "handler"))
    errors.declarative().Invalid(FieldPath("handler"), Value(), kImmutableText);
}

void WarnOfRuntimeClass(const Value& object, std::vector<std::string>& out) {
  for (const auto& [label, value] : Entries(object["scheduling"]["nodeSelector"])) {
    const std::string_view text = OldNodeLabelText(label);
    if (!text.empty()) out.push_back("scheduling.nodeSelector: " + std::string(text));
  }
}

}  // namespace

const KindHooks kRuntimeClassHooks = {
    .group = "node.k8s.io",
    .kind = "RuntimeClass",
    .validate = ValidateRuntimeClass,
    .validate_update = ValidateRuntimeClassUpdate,
    .allow_unconditional_update = false,
    .warnings = WarnOfRuntimeClass,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
