// PodSecurity: namespaces say by labels which pods they take (pod-security.kubernetes.io/enforce), warn of
// (…/warn) and note in the audit log (…/audit). Workloads are warned of by their pod template; only pods are
// refused.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration`: see ReadPodSecurityConfig.
Result<std::unique_ptr<AdmissionPlugin>> NewPodSecurity(const Catalog& catalog,
                                                        const std::optional<std::string>& configuration);

}  // namespace flyball::server
