#include "server/auth/config/authorization_config.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

std::string Chain(const std::string& authorizers) {
  return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: " +
         authorizers + "\n";
}

// A webhook that is in order but for `changes` (member: value, ...), which come last and so win. The file is
// one that exists.
std::string Webhook(const std::string& changes) {
  std::string members =
      "{\"timeout\":\"3s\",\"subjectAccessReviewVersion\":\"v1\",\"failurePolicy\":\"Deny\","
      "\"connectionInfo\":{\"type\":\"KubeConfigFile\",\"kubeConfigFile\":\"/etc/passwd\"}";
  if (!changes.empty()) members += "," + changes;
  return Chain("[{\"type\":\"Webhook\",\"name\":\"hook\",\"webhook\":" + members + "}}]");
}

std::string WrongWithChain(const std::string& text, const std::set<std::string>& required = {}) {
  const auto config = LoadAuthorizationConfiguration(text, required);
  return config ? "" : config.error().message();
}

TEST(AuthorizationConfigTest, ReadsAChain) {
  const auto config = LoadAuthorizationConfiguration(
      Chain(
          "[{type: Node, name: node}, {type: RBAC, name: rbac}, {type: Webhook, name: hook.example, webhook: "
          "{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: NoOpinion, authorizedTTL: 10s, "
          "cacheUnauthorizedRequests: false, connectionInfo: {type: KubeConfigFile, kubeConfigFile: "
          "/etc/passwd}}}]"),
      {"RBAC"});
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->authorizers.size(), 3u);
  const auto& hook = config->authorizers[2];
  EXPECT_EQ(hook.name, "hook.example");
  EXPECT_EQ(hook.webhook.authorized_ttl, std::chrono::seconds(10));
  EXPECT_EQ(hook.webhook.unauthorized_ttl, std::chrono::seconds(30));
  EXPECT_TRUE(hook.webhook.cache_authorized);
  EXPECT_FALSE(hook.webhook.cache_unauthorized);
  EXPECT_EQ(hook.webhook.failure_policy, "NoOpinion");
}

struct BadChain {
  const char* name;
  std::string text, wanted;
};
class AuthorizationRuleTest : public testing::TestWithParam<BadChain> {};

TEST_P(AuthorizationRuleTest, IsRefusedInUpstreamsWords) {
  EXPECT_EQ(WrongWithChain(GetParam().text), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AuthorizationRuleTest,
    testing::Values(
        BadChain{"Empty", Chain("[]"),
                 "authorizers: Required value: at least one authorization mode must be defined"},
        BadChain{"NoType", Chain("[{name: a}]"), "authorizers[0].type: Required value"},
        BadChain{
            "Unknown", Chain("[{type: Hope, name: hope}]"),
            "authorizers[0].type: Unsupported value: \"Hope\": supported values: \"ABAC\", \"AlwaysAllow\", "
            "\"AlwaysDeny\", \"Node\", \"RBAC\", \"Webhook\""},
        BadChain{
            "Abac", Chain("[{type: ABAC, name: abac}]"),
            "authorizers[0].type: Invalid value: \"ABAC\": authorization mode ABAC is not supported by this "
            "server"},
        BadChain{"Twice", Chain("[{type: RBAC, name: rbac}, {type: RBAC, name: more}]"),
                 "authorizers[1].type: Duplicate value: \"RBAC\""},
        BadChain{"NoName", Chain("[{type: RBAC}]"), "authorizers[0].name: Required value"},
        BadChain{"OtherName", Chain("[{type: RBAC, name: mine}]"),
                 "expected name rbac for authorizer RBAC instead of mine"},
        BadChain{"NoWebhook", Chain("[{type: Webhook, name: hook}]"),
                 "authorizers[0].webhook: Required value: required when type=Webhook"},
        BadChain{
            "NotAWebhook", Chain("[{type: RBAC, name: rbac, webhook: {}}]"),
            "authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook"},
        BadChain{"UnknownField", Chain("[{type: RBAC, name: rbac, mood: good}]"),
                 "failed to load AuthorizationConfiguration from file: strict decoding error: unknown field "
                 "\"authorizers[0].mood\""}),
    [](const auto& tested) { return std::string(tested.param.name); });

struct BadWebhook {
  const char* name;
  const char *without, *with;
  const char* wanted;
};
class WebhookRuleTest : public testing::TestWithParam<BadWebhook> {};

TEST_P(WebhookRuleTest, IsRefusedInUpstreamsWords) {
  const auto& [name, without, with, wanted] = GetParam();
  std::string text = Webhook("");
  ASSERT_EQ(WrongWithChain(text), "");
  const std::string taken(without);
  if (!taken.empty()) {
    ASSERT_NE(text.find(taken), std::string::npos);
    text.replace(text.find(taken), taken.size(), with);
  } else {
    text = Webhook(with);
  }
  EXPECT_EQ(WrongWithChain(text), wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, WebhookRuleTest,
    testing::Values(
        BadWebhook{"NoTimeout", "\"timeout\":\"3s\",", "", "authorizers[0].timeout: Required value"},
        BadWebhook{"LongTimeout", "\"3s\"", "\"31s\"",
                   "authorizers[0].timeout: Invalid value: \"31s\": must be > 0s and <= 30s"},
        BadWebhook{"NegativeTtl", "", "\"authorizedTTL\":\"-1s\"",
                   "authorizers[0].authorizedTTL: Invalid value: \"-1s\": must be > 0s"},
        BadWebhook{"Version", "\"v1\"", "\"v2\"",
                   "authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\": supported values: "
                   "\"v1\", \"v1beta1\""},
        BadWebhook{"NoPolicy", "\"Deny\"", "\"\"", "authorizers[0].failurePolicy: Required value"},
        BadWebhook{
            "Policy", "\"Deny\"", "\"Allow\"",
            "authorizers[0].failurePolicy: Unsupported value: \"Allow\": supported values: \"NoOpinion\", "
            "\"Deny\""},
        BadWebhook{"NoConnection", "\"KubeConfigFile\"", "\"\"",
                   "authorizers[0].connectionInfo.type: Required value"},
        BadWebhook{
            "RelativeFile", "/etc/passwd", "passwd",
            "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"passwd\": must be an absolute "
            "path"},
        BadWebhook{"NoFile", "/etc/passwd", "/nowhere",
                   "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/nowhere\": error loading "
                   "file: stat /nowhere: no such file or directory"},
        BadWebhook{"Folder", "/etc/passwd", "/etc",
                   "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/etc\": must be a regular "
                   "file"},
        BadWebhook{
            "ConditionVersion", "", "\"matchConditions\":[{\"expression\":\"\"}]",
            "[authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match "
            "conditions are specified, authorizers[0].matchConditions[0].expression: Required value]"},
        BadWebhook{
            "Condition", "",
            "\"matchConditionSubjectAccessReviewVersion\":\"v1\",\"matchConditions\":[{\"expression\":"
            "\"request.user\"}]",
            "authorizers[0].matchConditions[0].expression: Invalid value: \"request.user\": must evaluate to "
            "bool but got string"},
        BadWebhook{"SameCondition", "",
                   "\"matchConditionSubjectAccessReviewVersion\":\"v1\",\"matchConditions\":[{\"expression\":"
                   "\"true\"},{\"expression\":\"true\"}]",
                   "authorizers[0].matchConditions[1].expression: Duplicate value: \"true\""},
        BadWebhook{
            "UnknownField", "",
            "\"matchConditionSubjectAccessReviewVersion\":\"v1\",\"matchConditions\":[{\"expression\":"
            "\"request.users == ''\"}]",
            "authorizers[0].matchConditions[0].expression: Invalid value: \"request.users == ''\": "
            "compilation "
            "failed: ERROR: <input>:1:8: undefined field 'users'\n | request.users == ''\n | .......^"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(AuthorizationConfigTest, TypesOfTheStartStay) {
  EXPECT_EQ(WrongWithChain(Chain("[{type: AlwaysDeny, name: alwaysdeny}]"), {"Node", "RBAC"}),
            "missing required types: [Node RBAC]");
}

TEST(AuthorizationConfigTest, FlagsAreHeldToUpstreamsRules) {
  const auto wrong = [](std::vector<std::string> modes, const std::string& file = "") {
    AuthorizationOptions options;
    options.modes = std::move(modes);
    options.webhook_config_file = file;
    const auto config = ConfigurationOfFlags(options);
    return config ? "" : config.error().message();
  };
  EXPECT_EQ(wrong({"Node", "RBAC"}), "");
  EXPECT_EQ(wrong({}), "at least one authorization-mode must be passed");
  EXPECT_EQ(wrong({"Hope"}), "authorization-mode \"Hope\" is not a valid mode");
  EXPECT_EQ(wrong({"ABAC"}), "authorization mode ABAC is not supported by this server");
  EXPECT_EQ(wrong({"Webhook"}), "authorization-mode Webhook's authorization config file not passed");
  EXPECT_EQ(wrong({"RBAC"}, "/f"), "cannot specify --authorization-webhook-config-file without mode Webhook");
  EXPECT_EQ(wrong({"RBAC", "RBAC"}),
            "authorization-mode [\"RBAC\" \"RBAC\"] has mode specified more than once");
  AuthorizationOptions options;
  options.modes = {"Webhook"};
  options.webhook_config_file = "/f";
  options.webhook_unauthorized_ttl = Duration::zero();
  const auto hook = ConfigurationOfFlags(options)->authorizers.front();
  EXPECT_EQ(hook.name, "default");
  EXPECT_EQ(hook.webhook.failure_policy, "NoOpinion");
  EXPECT_EQ(hook.webhook.review_version, "v1beta1");
  EXPECT_TRUE(hook.webhook.cache_authorized);
  EXPECT_FALSE(hook.webhook.cache_unauthorized);
}

}  // namespace
}  // namespace flyball::server
