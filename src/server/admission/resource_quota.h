// ResourceQuota: a write that would use more than a quota of its namespace allows is refused; what it uses is
// added to the quota's status before the object is written. What was charged for a write that then failed,
// and what goes away, is counted anew by the resource quota controller, as upstream.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

class Registry;

// Where quotas are charged. The registry comes after the plugins that it runs: set before serving.
struct QuotaCharging {
  Registry* registry = nullptr;
};

std::unique_ptr<AdmissionPlugin> NewResourceQuotaAdmission(const Catalog& catalog,
                                                           const QuotaCharging& charging);

}  // namespace flyball::server
