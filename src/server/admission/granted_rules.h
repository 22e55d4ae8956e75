// RBAC rules as sets of rights that can be compared: what one list of rules has and another has not
// (upstream: registry/rbac/validation, Covers).
//
// Functions only; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::server {

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
json::Value ToJson(const GrantedRule& rule);

// Go's %q of a list of strings.
std::string QuotedList(const std::vector<std::string>& list);

}  // namespace flyball::server
