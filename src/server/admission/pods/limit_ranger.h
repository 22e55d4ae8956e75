// LimitRanger: containers get the defaults of the namespace's LimitRanges; pods and claims outside their
// bounds are refused.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewLimitRanger(const Catalog& catalog);

}  // namespace flyball::server
