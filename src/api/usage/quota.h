// What objects use of a ResourceQuota (upstream: pkg/quota/v1 and its evaluators). Pure functions of objects;
// admission charges with them, and so can a controller that counts anew.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/usage/resource_amounts.h"
#include "base/run/clock.h"
#include "json/value.h"

namespace flyball::api {

// A kind of object as quotas see it.
struct QuotaKind {
  std::string_view group, plural;
};

// What one object uses, by the names quotas count it under: "count/deployments.apps", "pods", "requests.cpu".
// Finished pods, and those long gone but not yet removed, count as objects only.
ResourceAmounts QuotaUsage(const QuotaKind& kind, const json::Value& object, TimePoint now);

// Whether the quota counts such a thing at all.
bool QuotaCounts(const QuotaKind& kind, std::string_view resource_name);

// Whether the object is within the scopes of the quota (spec.scopes, spec.scopeSelector). Only pods have
// scopes: a quota with any is not about other objects.
bool InQuotaScopes(const json::Value& quota_spec, const QuotaKind& kind, const json::Value& object);

// One scope of a quota: PriorityClass In [high].
struct QuotaScope {
  std::string name, op;
  std::vector<std::string> values;
};
// From a list of ScopedResourceSelectorRequirements.
std::vector<QuotaScope> QuotaScopesOf(const json::Value& expressions);
std::vector<QuotaScope> ScopesOfQuota(const json::Value& quota_spec);
// Whether the object is within one scope; only pods are.
bool InQuotaScope(const QuotaScope& scope, const QuotaKind& kind, const json::Value& object);

// Quotas of cpu and memory oblige every container to say how much it wants: "must specify requests.cpu for:
// a,b; ...", or "" if nothing is missing. `hard` are the names the quota limits.
std::string MissingForQuota(const QuotaKind& kind, const std::set<std::string>& hard,
                            const json::Value& object);

}  // namespace flyball::api
