// CustomResourceDefinition: the rules live in custom/.
#include "api/custom/crd_status.h"
#include "api/custom/crd_validation.h"
#include "api/custom/definition_warnings.h"
#include "api/kinds/shared/hooks.h"

namespace flyball::api {

namespace {

void PrepareCustomResourceDefinitionForCreate(json::Value& definition) {
  definition["status"] = InitialDefinitionStatus(definition);
}

// A new storage version is one that objects are stored in from now on.
void PrepareCustomResourceDefinitionForUpdate(json::Value& definition, const json::Value& /*old*/) {
  json::Array stored;
  for (const auto& version : StoredVersions(definition)) stored.emplace_back(version);
  definition["status"]["storedVersions"] = std::move(stored);
}

}  // namespace

const KindHooks kCustomResourceDefinitionHooks = {
    .group = "apiextensions.k8s.io",
    .kind = "CustomResourceDefinition",
    .set_defaults = DefaultCustomResourceDefinition,
    .prepare_for_create = PrepareCustomResourceDefinitionForCreate,
    .prepare_for_update = PrepareCustomResourceDefinitionForUpdate,
    .validate = ValidateCustomResourceDefinition,
    .validate_update = ValidateCustomResourceDefinitionUpdate,
    .status_keeps_metadata = true,
    .generation = true,
    .allow_unconditional_update = false,
    .warnings = WarnOfDefinition,
    .warn_on = KindHooks::WarnOn::kNews,
};

}  // namespace flyball::api
