#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"

namespace flyball::api {
namespace {

// Of the secrets only the names count.
void KeepSecretNames(json::Value& object) {
  json::Value* secrets = object.Find("secrets");
  if (secrets == nullptr || !secrets->is_array()) return;
  for (json::Value& secret : secrets->as_array()) {
    json::Object kept;
    if (Has(secret, "name")) kept.Append("name", secret["name"]);
    secret = std::move(kept);
  }
}

void PrepareServiceAccountForUpdate(json::Value& object, const json::Value& /*old*/) {
  KeepSecretNames(object);
}

}  // namespace

const KindHooks kServiceAccountHooks = {.group = "",
                                        .kind = "ServiceAccount",
                                        .prepare_for_create = KeepSecretNames,
                                        .prepare_for_update = PrepareServiceAccountForUpdate,
                                        .return_deleted_object = true};

}  // namespace flyball::api
