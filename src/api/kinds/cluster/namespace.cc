#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr const char* kNameLabel = "kubernetes.io/metadata.name";

void SetNamespaceDefaults(Value& object) {
  const std::string name(Text(object["metadata"], "name"));
  if (!name.empty()) object["metadata"]["labels"][kNameLabel] = name;
}

void PrepareNamespaceForCreate(Value& object) {
  SetNamespaceDefaults(object);
  object["status"] = json::Object{{"phase", "Active"}};
  Value& finalizers = object["spec"]["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Array{};
  if (!Contains(finalizers, "kubernetes")) finalizers.as_array().emplace_back("kubernetes");
}

// Finalizers go through their own subresource.
void PrepareNamespaceForUpdate(Value& object, const Value& old) {
  if (Has(old["spec"], "finalizers")) {
    object["spec"]["finalizers"] = old["spec"]["finalizers"];
  } else {
    Remove(object["spec"], "finalizers");
  }
}

void ValidateNamespaceObject(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec.finalizers");
  for (const Value& finalizer : Items(object["spec"]["finalizers"])) {
    const std::string_view name = finalizer.string_or({});
    CheckFormat("qualified-name", name, path, errors);
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (!standard && name.find('/') == std::string_view::npos) {
      errors.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
  }
}

void ValidateNamespaceStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  const std::string_view phase = Text(object["status"], "phase");
  const bool deleting = Has(object["metadata"], "deletionTimestamp");
  if (!deleting && phase != "Active") {
    errors.Invalid(FieldPath("status.Phase"), phase, "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (deleting && phase != "Terminating") {
    errors.Invalid(FieldPath("status.Phase"), phase,
                   "may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
}

}  // namespace

const KindHooks kNamespaceHooks = {
    .group = "",
    .kind = "Namespace",
    .set_defaults = SetNamespaceDefaults,
    .prepare_for_create = PrepareNamespaceForCreate,
    .prepare_for_update = PrepareNamespaceForUpdate,
    .validate = ValidateNamespaceObject,
    .validate_status_update = ValidateNamespaceStatusUpdate,
    .name_format = "dns-label",
};

}  // namespace flyball::api
