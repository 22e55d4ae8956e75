#include <string>
#include <vector>

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

constexpr std::string_view kEnforceMountable = "kubernetes.io/enforce-mountable-secrets";

void WarnOfServiceAccount(const json::Value& object, std::vector<std::string>& out) {
  if (object["metadata"]["annotations"].Find(kEnforceMountable) == nullptr) return;
  out.push_back("metadata.annotations[" + std::string(kEnforceMountable) +
                "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets");
}

}  // namespace

const KindHooks kServiceAccountHooks = {.group = "",
                                        .kind = "ServiceAccount",
                                        .prepare_for_create = KeepSecretNames,
                                        .prepare_for_update = PrepareServiceAccountForUpdate,
                                        .return_deleted_object = true,
                                        .warnings = WarnOfServiceAccount,
                                        .warn_on = KindHooks::WarnOn::kNews};

}  // namespace flyball::api
