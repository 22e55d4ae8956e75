#include "server/audit/audit_policy.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

constexpr std::string_view kPolicyHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

Result<AuditPolicy> ParsePolicy(const std::string& rest) {
  return AuditPolicy::Parse(std::string(kPolicyHead) + rest);
}
std::string PolicyError(const std::string& rest) {
  const auto policy = ParsePolicy(rest);
  return policy ? "(none)" : policy.error().message();
}

struct PolicyRequest {
  std::string verb = "get", group{}, resource = "pods", subresource{}, ns = "default", name = "x";
  std::string user = "jane";
  std::vector<std::string> groups = {"system:authenticated"};
  std::string path{};  // if set, no resource
};

// The level the policy gives, e.g. "Metadata".
std::string LevelOf(const std::string& rules, const PolicyRequest& asked) {
  const auto policy = ParsePolicy(rules);
  EXPECT_TRUE(policy) << policy.error().message();
  if (!policy) return "?";
  const User user{asked.user, "", asked.groups, {}};
  AuthorizationAttributes attributes;
  attributes.user = asked.user.empty() ? nullptr : &user;
  attributes.verb = asked.verb;
  attributes.is_resource = asked.path.empty();
  attributes.namespace_name = asked.ns;
  attributes.group = asked.group;
  attributes.resource = asked.resource;
  attributes.subresource = asked.subresource;
  attributes.name = asked.name;
  attributes.path = asked.path;
  return std::string(AuditLevelName(policy->Decide(attributes).level));
}

TEST(AuditPolicyTest, TheFirstRuleThatFitsDecidesAndNoneMeansNone) {
  const std::string rules =
      "rules:\n- {level: Request, verbs: [create]}\n- {level: Metadata, verbs: [create, get]}\n";
  EXPECT_EQ(LevelOf(rules, {.verb = "create"}), "Request");
  EXPECT_EQ(LevelOf(rules, {.verb = "get"}), "Metadata");
  EXPECT_EQ(LevelOf(rules, {.verb = "delete"}), "None");
}

TEST(AuditPolicyTest, MatchesUsersAndGroups) {
  const std::string users = "rules:\n- {level: Request, users: [jane]}\n";
  EXPECT_EQ(LevelOf(users, {}), "Request");
  EXPECT_EQ(LevelOf(users, {.user = "joe"}), "None");
  EXPECT_EQ(LevelOf(users, {.user = ""}), "None");
  const std::string groups = "rules:\n- {level: Request, userGroups: [ops]}\n";
  EXPECT_EQ(LevelOf(groups, {.groups = {"dev", "ops"}}), "Request");
  EXPECT_EQ(LevelOf(groups, {.groups = {"dev"}}), "None");
  EXPECT_EQ(LevelOf(groups, {.user = "", .groups = {"ops"}}), "None");
}

TEST(AuditPolicyTest, MatchesResourcesSubresourcesNamesAndNamespaces) {
  const auto rule = [](const std::string& resources) {
    return "rules:\n- {level: Request, resources: [{" + resources + "}]}\n";
  };
  EXPECT_EQ(LevelOf(rule("group: ''"), {}), "Request");
  EXPECT_EQ(LevelOf(rule("group: ''"), {.group = "apps", .resource = "deployments"}), "None");
  EXPECT_EQ(LevelOf(rule("group: '*'"), {.group = "apps", .resource = "deployments"}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: [pods]"), {}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: [pods]"), {.subresource = "log"}), "None");
  EXPECT_EQ(LevelOf(rule("group: '', resources: [pods/log]"), {.subresource = "log"}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: ['pods/*']"), {.subresource = "log"}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: ['pods/*']"), {}), "Request") << "as upstream";
  EXPECT_EQ(LevelOf(rule("group: '', resources: ['*/log']"), {.subresource = "log"}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: ['*/log']"), {}), "None");
  EXPECT_EQ(LevelOf(rule("group: '', resources: ['*']"), {.subresource = "log"}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: [pods], resourceNames: [x]"), {}), "Request");
  EXPECT_EQ(LevelOf(rule("group: '', resources: [pods], resourceNames: [other]"), {}), "None");
  EXPECT_EQ(LevelOf(rule("group: ''"), {.path = "/healthz"}), "None");
  const std::string namespaces = "rules:\n- {level: Request, namespaces: [kube-system, '']}\n";
  EXPECT_EQ(LevelOf(namespaces, {.ns = "kube-system"}), "Request");
  EXPECT_EQ(LevelOf(namespaces, {.ns = ""}), "Request") << "not namespaced";
  EXPECT_EQ(LevelOf(namespaces, {.ns = "default"}), "None");
}

TEST(AuditPolicyTest, MatchesNonResourceUrls) {
  const std::string rules = "rules:\n- {level: Request, nonResourceURLs: ['/healthz*', /version]}\n";
  EXPECT_EQ(LevelOf(rules, {.path = "/healthz/etcd"}), "Request");
  EXPECT_EQ(LevelOf(rules, {.path = "/version"}), "Request");
  EXPECT_EQ(LevelOf(rules, {.path = "/version/x"}), "None");
  EXPECT_EQ(LevelOf(rules, {}), "None");
  EXPECT_EQ(LevelOf("rules:\n- {level: Request, nonResourceURLs: ['*']}\n", {.path = "/x"}), "Request");
}

TEST(AuditPolicyTest, StagesAreOmittedByPolicyAndRule) {
  const auto policy = ParsePolicy(
      "omitStages: [RequestReceived]\nomitManagedFields: true\n"
      "rules:\n- {level: Metadata, omitStages: [ResponseStarted], omitManagedFields: false, verbs: [get]}\n"
      "- {level: Metadata}\n");
  ASSERT_TRUE(policy) << policy.error().message();
  AuthorizationAttributes attributes;
  attributes.verb = "get";
  AuditDecision decision = policy->Decide(attributes);
  EXPECT_FALSE(decision.Wants(AuditStage::kRequestReceived));
  EXPECT_FALSE(decision.Wants(AuditStage::kResponseStarted));
  EXPECT_TRUE(decision.Wants(AuditStage::kResponseComplete));
  EXPECT_TRUE(decision.Wants(AuditStage::kPanic));
  EXPECT_FALSE(decision.omit_managed_fields);
  attributes.verb = "list";
  decision = policy->Decide(attributes);
  EXPECT_TRUE(decision.Wants(AuditStage::kResponseStarted));
  EXPECT_TRUE(decision.omit_managed_fields);
}

TEST(AuditPolicyTest, RefusesWhatKubernetesRefuses) {
  EXPECT_EQ(PolicyError("rules:\n- {level: Metadata}\n"), "(none)");
  EXPECT_EQ(PolicyError("rules:\n- {level: Metadata, unknown: 1}\n"), "(none)") << "with a warning";
  EXPECT_EQ(PolicyError("rules: 5\n"), "failed decoding: rules: expected a list");
  EXPECT_EQ(PolicyError("rules: []\n"), "loaded illegal policy with 0 rules");
  EXPECT_EQ(PolicyError("rules:\n- {}\n"), "rules[0].level: Required value");
  EXPECT_EQ(
      PolicyError("rules:\n- {level: All}\n"),
      "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", \"Request\", "
      "\"RequestResponse\"");
  EXPECT_EQ(PolicyError("omitStages: [Done]\nrules:\n- {level: None}\n"),
            "omitStages[0]: Invalid value: \"Done\": allowed stages are "
            "RequestReceived,ResponseStarted,ResponseComplete,Panic");
  EXPECT_EQ(
      PolicyError("rules:\n- {level: None, nonResourceURLs: [healthz]}\n"),
      "rules[0].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must begin with a '/' "
      "character");
  EXPECT_EQ(PolicyError("rules:\n- {level: None, nonResourceURLs: ['/a*b']}\n"),
            "rules[0].nonResourceURLs[0]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be "
            "the final "
            "character of the rule");
  EXPECT_NE(PolicyError("rules:\n- {level: None, nonResourceURLs: [/a], namespaces: [b]}\n")
                .find("rules cannot apply to both regular resources and non-resource URLs"),
            std::string::npos);
  EXPECT_NE(PolicyError("rules:\n- {level: None, resources: [{group: '', resourceNames: [a]}]}\n")
                .find("using resourceNames requires at least one resource"),
            std::string::npos);
  EXPECT_NE(PolicyError("rules:\n- {level: None, resources: [{group: apps/v1}]}\n")
                .find("rules[0].resources.group"),
            std::string::npos);
  EXPECT_EQ(AuditPolicy::Parse("apiVersion: v1\nkind: Pod\n").error().message(),
            "failed decoding: no kind \"Pod\" is registered for version \"v1\"");
}

}  // namespace
}  // namespace flyball::server
