// PodSecurityConfiguration: the levels that namespaces without labels have, and who is exempt.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/pod_security/pod_security.h"
#include "base/values/result.h"

namespace flyball::server {

struct PodSecurityPolicies {
  api::pod_security::Policy enforce, audit, warn;
};

struct PodSecurityConfig {
  PodSecurityPolicies defaults;
  std::set<std::string, std::less<>> usernames, namespaces, runtime_classes;
};

// `text` is a PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1. BadRequest if it is none
// or invalid. Without one: privileged, nobody exempt.
Result<PodSecurityConfig> ReadPodSecurityConfig(const std::optional<std::string>& text);

}  // namespace flyball::server
