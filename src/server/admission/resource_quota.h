// ResourceQuota: a write that would use more than a quota of its namespace allows is refused; what it uses is
// added to the quota's status before the object is written. What was charged for a write that then failed,
// and what goes away, is counted anew by the resource quota controller, as upstream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "server/admission/basis/registry_access.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration`: see ReadLimitedResources.
Result<std::unique_ptr<AdmissionPlugin>> NewResourceQuotaAdmission(
    const Catalog& catalog, const RegistryAccess& access, const std::optional<std::string>& configuration);

}  // namespace flyball::server
