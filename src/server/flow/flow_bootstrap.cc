// The priority levels and flow schemas every cluster starts with (upstream: apis/flowcontrol/bootstrap).
#include <string>
#include <string_view>
#include <vector>

#include "api/values/time.h"
#include "server/flow/flow_schema.h"
#include "server/flow/flow_status.h"

namespace flyball::server {
namespace {

constexpr std::string_view kFlowVersion = "flowcontrol.apiserver.k8s.io/v1";

struct LevelRow {
  std::string_view name;
  int shares, lendable_percent, queues, hand_size;  // queues 0: refuse instead of queueing; -1: exempt
};
constexpr LevelRow kLevels[] = {{"exempt", 0, 0, -1, 0},
                                {"system", 30, 33, 64, 6},
                                {"node-high", 40, 25, 64, 6},
                                {"leader-election", 10, 0, 16, 4},
                                {"workload-high", 40, 50, 128, 6},
                                {"workload-low", 100, 90, 128, 6},
                                {"global-default", 20, 50, 128, 6},
                                {"catch-all", 5, 0, 0, 0}};
constexpr int kQueueLength = 50;

// Rules are written `subjects / verbs / groups / resources`, comma-separated ("-": the core group), with
// ` / namespaced` if they are not about cluster-wide requests; or `subjects / verbs / paths`. Subjects: "g:"
// a group, "u:" a user, "s:" a service account of kube-system.
struct SchemaRow {
  std::string_view name, level;
  int precedence;
  std::string_view distinguisher;
  std::vector<std::string_view> rules;
};

#define EVERYBODY "g:system:unauthenticated,g:system:authenticated"
#define ANYTHING(who) who " / * / * / *", who " / * / *"

const std::vector<SchemaRow>& SchemaRows() {
  static const std::vector<SchemaRow> rows = {
      {"exempt", "exempt", 1, "", {ANYTHING("g:system:masters")}},
      {"probes", "exempt", 2, "", {EVERYBODY " / get / /healthz,/readyz,/livez"}},
      {"system-leader-election",
       "leader-election",
       100,
       "ByUser",
       {"u:system:kube-controller-manager,u:system:kube-scheduler,s:* / get,create,update / "
        "coordination.k8s.io / leases / namespaced"}},
      {"system-node-high",
       "node-high",
       400,
       "ByUser",
       {"g:system:nodes / * / - / nodes,nodes/status",
        "g:system:nodes / * / coordination.k8s.io / leases / namespaced"}},
      {"system-nodes", "system", 500, "ByUser", {ANYTHING("g:system:nodes")}},
      {"kube-controller-manager",
       "workload-high",
       800,
       "ByNamespace",
       {ANYTHING("u:system:kube-controller-manager")}},
      {"kube-scheduler", "workload-high", 800, "ByNamespace", {ANYTHING("u:system:kube-scheduler")}},
      {"kube-system-service-accounts", "workload-high", 900, "ByNamespace", {ANYTHING("s:*")}},
      {"service-accounts", "workload-low", 9000, "ByUser", {ANYTHING("g:system:serviceaccounts")}},
      {"global-default", "global-default", 9900, "ByUser", {ANYTHING(EVERYBODY)}},
      {"catch-all", "catch-all", 10000, "ByUser", {ANYTHING(EVERYBODY)}},
  };
  return rows;
}

std::vector<std::string_view> SplitBy(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

json::Array Words(std::string_view text) {
  json::Array words;
  for (const auto word : SplitBy(text, ",")) words.push_back(word == "-" ? "" : word);
  return words;
}

json::Value SubjectOf(std::string_view text) {
  const auto name = text.substr(2);
  if (text[0] == 'g') return json::Object{{"kind", "Group"}, {"group", json::Object{{"name", name}}}};
  if (text[0] == 'u') return json::Object{{"kind", "User"}, {"user", json::Object{{"name", name}}}};
  return json::Object{{"kind", "ServiceAccount"},
                      {"serviceAccount", json::Object{{"namespace", "kube-system"}, {"name", name}}}};
}

json::Value RuleOf(std::string_view text) {
  const auto parts = SplitBy(text, " / ");
  json::Array subjects;
  for (const auto who : SplitBy(parts[0], ",")) subjects.push_back(SubjectOf(who));
  json::Object rule{{"subjects", std::move(subjects)}};
  if (parts.size() == 3) {
    json::Value path_rule = json::Object{{"verbs", Words(parts[1])}, {"nonResourceURLs", Words(parts[2])}};
    rule.Set("nonResourceRules", json::Array{std::move(path_rule)});
    return rule;
  }
  json::Object resource_rule{
      {"verbs", Words(parts[1])}, {"apiGroups", Words(parts[2])}, {"resources", Words(parts[3])}};
  if (parts.size() == 4) resource_rule.Set("clusterScope", true);
  resource_rule.Set("namespaces", json::Array{"*"});
  rule.Set("resourceRules", json::Array{json::Value(std::move(resource_rule))});
  return rule;
}

// A resource rule and a path rule about the same subjects are one rule.
json::Array RulesFrom(const std::vector<std::string_view>& texts) {
  json::Array rules;
  for (const auto text : texts) {
    json::Value rule = RuleOf(text);
    auto* last = rules.empty() ? nullptr : &rules.back();
    if (!last || !((*last)["subjects"] == rule["subjects"])) {
      rules.push_back(std::move(rule));
      continue;
    }
    for (const std::string_view part : {"resourceRules", "nonResourceRules"}) {
      auto* more = rule.Find(part);
      if (!more) continue;
      auto& list = (*last)[part];
      if (!list.is_array()) list = json::Array{};
      for (auto& item : more->as_array()) list.as_array().push_back(std::move(item));
    }
  }
  return rules;
}

json::Value BootstrapMetadata(std::string_view name) {
  return json::Object{{"name", name},
                      {"annotations", json::Object{{"apf.kubernetes.io/autoupdate-spec", "true"}}}};
}

json::Value LevelValue(const LevelRow& row) {
  json::Object part{{"nominalConcurrencyShares", row.shares}, {"lendablePercent", row.lendable_percent}};
  json::Object spec;
  if (row.queues < 0) {
    spec = {{"type", "Exempt"}, {"exempt", std::move(part)}};
  } else {
    json::Object response{{"type", row.queues == 0 ? "Reject" : "Queue"}};
    if (row.queues > 0)
      response.Set("queuing", json::Object{{"queues", row.queues},
                                           {"handSize", row.hand_size},
                                           {"queueLengthLimit", kQueueLength}});
    part.Set("limitResponse", std::move(response));
    spec = {{"type", "Limited"}, {"limited", std::move(part)}};
  }
  return json::Object{{"apiVersion", kFlowVersion},
                      {"kind", "PriorityLevelConfiguration"},
                      {"metadata", BootstrapMetadata(row.name)},
                      {"spec", std::move(spec)}};
}

json::Value SchemaValue(const SchemaRow& row, TimePoint now) {
  json::Object spec{{"priorityLevelConfiguration", json::Object{{"name", row.level}}},
                    {"matchingPrecedence", row.precedence}};
  if (!row.distinguisher.empty()) spec.Set("distinguisherMethod", json::Object{{"type", row.distinguisher}});
  spec.Set("rules", RulesFrom(row.rules));
  return json::Object{
      {"apiVersion", kFlowVersion},
      {"kind", "FlowSchema"},
      {"metadata", BootstrapMetadata(row.name)},
      {"spec", std::move(spec)},
      {"status",
       json::Object{{"conditions", json::Array{DanglingCondition(row.level, true, api::FormatTime(now))}}}}};
}

}  // namespace

std::vector<json::Value> BootstrapFlowControl(TimePoint now) {
  std::vector<json::Value> objects;
  for (const auto& row : kLevels) objects.push_back(LevelValue(row));
  for (const auto& row : SchemaRows()) objects.push_back(SchemaValue(row, now));
  return objects;
}

}  // namespace flyball::server
