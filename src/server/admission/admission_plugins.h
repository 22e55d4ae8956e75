// The admission plugins, in kube-apiserver's order, as --enable-admission-plugins and
// --disable-admission-plugins say.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "server/admission/resource_quota.h"
#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

struct AdmissionOptions {
  std::set<std::string> enable, disable;
};

// BadRequest for a name that is none of them.
Result<std::vector<std::unique_ptr<AdmissionPlugin>>> AdmissionPlugins(const AdmissionOptions& options,
                                                                       const Catalog& catalog,
                                                                       const Authorizer& authorizer,
                                                                       const QuotaCharging& charging,
                                                                       Random& random, Metrics& metrics);

}  // namespace flyball::server
