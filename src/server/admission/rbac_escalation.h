// Nobody grants rights they do not have: writing a Role or ClusterRole, and binding one, needs every right in
// it, or the verbs escalate and bind (upstream: the policy-based storage of the RBAC kinds). Always on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewRbacEscalationCheck(const Catalog& catalog, const Authorizer& authorizer);

// One RBAC rule.
struct GrantedRule {
  std::vector<std::string> verbs, groups, resources, names, urls;

  // `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`
  std::string ToString() const;
};
std::vector<GrantedRule> GrantedRules(const json::Value& rules);
// What of `wanted` the holder of `held` may not do, as few rules as say it.
std::vector<GrantedRule> MissingRights(const std::vector<GrantedRule>& held,
                                       const std::vector<GrantedRule>& wanted);

}  // namespace flyball::server
