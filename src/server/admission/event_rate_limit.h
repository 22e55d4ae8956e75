// EventRateLimit: bounds how many Events are written per second, in all, by namespace, by user, or by source
// and object.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration` is a Configuration of eventratelimit.admission.k8s.io/v1alpha1. BadRequest if it is none or
// its limits are invalid; without one nothing is limited.
Result<std::unique_ptr<AdmissionPlugin>> NewEventRateLimit(const Clock& clock,
                                                           const std::optional<std::string>& configuration);

}  // namespace flyball::server
