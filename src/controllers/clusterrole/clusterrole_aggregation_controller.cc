#include "controllers/clusterrole/clusterrole_aggregation_controller.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "api/select/matching.h"
#include "api/types/rbac.h"

namespace flyball::controllers {
namespace {

constexpr char kAggregationManager[] = "clusterrole-aggregation-controller";

bool IsAggregated(const ClusterRole& role) {
  return role.aggregation_rule.has_value();
}

bool IsSelected(const ClusterRole& aggregated, const ClusterRole& role) {
  const auto& selectors = aggregated.aggregation_rule->cluster_role_selectors;
  return role.metadata.name != aggregated.metadata.name &&
         std::any_of(selectors.begin(), selectors.end(),
                     [&](const LabelSelector& selector) { return Matches(selector, role.metadata.labels); });
}

// Each rule once, in the order of the role names.
std::vector<PolicyRule> UnionOfRules(const ClusterRole& aggregated, const Lister<ClusterRole>& roles) {
  auto all = roles.List();
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->metadata.name < b->metadata.name; });
  std::vector<PolicyRule> rules;
  for (const auto& role : all) {
    if (!IsSelected(aggregated, *role)) continue;
    for (const PolicyRule& rule : role->rules)
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  }
  return rules;
}

Result<Action> ReconcileAggregation(const ClusterRole& role, Context& ctx) {
  if (!IsAggregated(role)) return Done();
  const std::vector<PolicyRule> rules = UnionOfRules(role, ctx.lister<ClusterRole>());
  if (rules == role.rules) return Done();
  json::Array list;
  for (const PolicyRule& rule : rules) list.push_back(ToJson(rule));
  json::Object wanted{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                      {"kind", "ClusterRole"},
                      {"metadata", json::Object{{"name", role.metadata.name}}},
                      {"rules", std::move(list)}};
  const auto applied = ctx.client().Of<ClusterRole>().Apply(
      json::Value(std::move(wanted)), {.field_manager = kAggregationManager, .force = true});
  if (!applied && !applied.error().Is(Reason::kNotFound)) return Unexpected(applied.error());
  return Done();
}

}  // namespace

Status AddClusterRoleAggregation(Manager& manager, int workers) {
  const auto roles = manager.informers().For<ClusterRole>().lister();
  return manager.For<ClusterRole>()
      .Named(kAggregationManager)
      .Watches<ClusterRole>([roles](const ClusterRole&) {
        std::vector<ObjectKey> keys;
        for (const auto& role : roles.List())
          if (IsAggregated(*role)) keys.push_back({"", role->metadata.name});
        return keys;
      })
      .Workers(workers)
      .Reconcile(&ReconcileAggregation);
}

}  // namespace flyball::controllers
