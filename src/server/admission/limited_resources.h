// What may be used only where a quota covers it: the configuration of the ResourceQuota plugin (upstream:
// LimitedResource).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/usage/quota.h"
#include "base/values/result.h"
#include "server/registry/admission.h"

namespace flyball::server {

struct LimitedResource {
  std::string group, plural;
  std::vector<std::string> contains;    // parts of the names that quotas count it under
  std::vector<api::QuotaScope> scopes;  // pods within one of them are limited as well
};

// `configuration` is a ResourceQuotaConfiguration of apiserver.config.k8s.io/v1, or a Configuration of the
// older group resourcequota.admission.k8s.io. BadRequest if it is none or has a row
// without a resource. Without one nothing is limited.
Result<std::vector<LimitedResource>> ReadLimitedResources(const std::optional<std::string>& configuration);

// What the quotas that are about the object cover.
struct QuotaCover {
  std::set<std::string> resources, scopes;
};
// Forbidden if the object uses something limited that no quota covers. `use` is all it uses by the names of
// quotas.
Status CheckQuotaCover(const AdmissionRequest& request, const std::vector<LimitedResource>& limited,
                       const api::ResourceAmounts& use, const QuotaCover& cover);

}  // namespace flyball::server
