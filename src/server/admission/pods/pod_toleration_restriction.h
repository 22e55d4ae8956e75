// PodTolerationRestriction: gives pods the default tolerations of their namespace (or of the plugin's
// configuration) and refuses tolerations outside of the list allowed there. Namespaces say both in the
// annotations scheduler.alpha.kubernetes.io/defaultTolerations and .../tolerationsWhitelist.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration` is a Configuration of podtolerationrestriction.admission.k8s.io/v1alpha1. BadRequest if it
// is none or its tolerations are invalid.
Result<std::unique_ptr<AdmissionPlugin>> NewPodTolerationRestriction(
    const Catalog& catalog, const std::optional<std::string>& configuration);

}  // namespace flyball::server
