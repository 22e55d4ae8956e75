#include "server/auth/config/authentication_config.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

constexpr const char* kAuthenticationHead =
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
// One issuer that is in order; {} is where further lines of it go.
std::string WithIssuer(const std::string& more_issuer = "", const std::string& more = "") {
  return std::string(kAuthenticationHead) +
         "jwt:\n"
         "- issuer:\n"
         "    url: https://issuer.example\n"
         "    audiences: [flyball]\n" +
         more_issuer +
         "  claimMappings:\n"
         "    username: {claim: sub, prefix: 'idp:'}\n" +
         more;
}

// What is wrong with the text; "" if nothing is.
std::string WrongWith(const std::string& text) {
  const auto config = ParseAuthenticationConfiguration(text);
  if (!config) return config.error().message();
  const auto errors = ValidateAuthenticationConfiguration(*config, {"https://kubernetes.default.svc"});
  return errors.empty() ? "" : AggregateText(errors);
}

TEST(AuthenticationConfigTest, ReadsAllOfIt) {
  const auto config = ParseAuthenticationConfiguration(
      WithIssuer("    discoveryURL: https://elsewhere.example/doc\n    audienceMatchPolicy: MatchAny\n",
                 "    groups: {claim: roles, prefix: ''}\n"
                 "    uid: {claim: oid}\n"
                 "  claimValidationRules: [{claim: hd, requiredValue: example.com}]\n"
                 "anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}\n"));
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->jwt.size(), 1u);
  const auto& jwt = config->jwt.front();
  EXPECT_EQ(jwt.url, "https://issuer.example");
  EXPECT_EQ(jwt.discovery_url, "https://elsewhere.example/doc");
  EXPECT_EQ(jwt.audiences, std::vector<std::string>{"flyball"});
  EXPECT_EQ(jwt.username.claim, "sub");
  EXPECT_EQ(jwt.username.prefix, "idp:");
  EXPECT_EQ(jwt.groups.claim, "roles");
  EXPECT_EQ(jwt.groups.prefix, "");
  EXPECT_EQ(jwt.uid.claim, "oid");
  EXPECT_EQ(jwt.claim_validation_rules.front().required_value, "example.com");
  ASSERT_TRUE(config->anonymous);
  EXPECT_EQ(config->anonymous->paths, (std::vector<std::string>{"/livez", "/readyz"}));
  EXPECT_EQ(WrongWith(std::string(kAuthenticationHead) + "jwt: []\n"), "");
}

TEST(AuthenticationConfigTest, WhatIsNotKnownIsAnError) {
  EXPECT_NE(WrongWith(""), "");
  EXPECT_EQ(WrongWith(WithIssuer("    nonsense: 1\n")),
            "strict decoding error: unknown field \"jwt[0].issuer.nonsense\"");
  EXPECT_EQ(WrongWith(std::string(kAuthenticationHead) + "jwt: []\njwt: []\n"),
            "strict decoding error: yaml: unmarshal errors:\n  line 4: key \"jwt\" already set in map");
  EXPECT_NE(WrongWith("apiVersion: v1\nkind: Pod\n").find("no kind \"Pod\" is registered"),
            std::string::npos);
  EXPECT_NE(WrongWith(std::string(kAuthenticationHead) + "jwt: yes\n").find("jwt: expected a list"),
            std::string::npos);
}

struct BadCase {
  const char* name;
  std::string text, wanted;
};
class AuthenticationRuleTest : public testing::TestWithParam<BadCase> {};

TEST_P(AuthenticationRuleTest, IsRefusedInUpstreamsWords) {
  EXPECT_EQ(WrongWith(GetParam().text), GetParam().wanted);
}

std::string Issuer(const std::string& url, const std::string& more = "    audiences: [a]\n") {
  return std::string(kAuthenticationHead) + "jwt:\n- issuer:\n    url: '" + url + "'\n" + more +
         "  claimMappings: {username: {claim: sub, prefix: ''}}\n";
}
std::string Mapping(const std::string& mappings);
std::string Extra(const std::string& list) {
  return Mapping("{username: {claim: sub, prefix: ''}, extra: [" + list + "]}");
}
std::string Mapping(const std::string& mappings) {
  return std::string(kAuthenticationHead) +
         "jwt:\n- issuer: {url: 'https://i.example', audiences: [a]}\n  claimMappings: " + mappings + "\n";
}
std::string Rules(const std::string& rules) {
  return WithIssuer("", "  claimValidationRules: " + rules + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AuthenticationRuleTest,
    testing::Values(
        BadCase{"NoUrl", Issuer(""), "jwt[0].issuer.url: Required value"},
        BadCase{"Http", Issuer("http://i.example"),
                "jwt[0].issuer.url: Invalid value: \"http://i.example\": URL scheme must be https"},
        BadCase{
            "Password", Issuer("https://u:p@i.example"),
            "jwt[0].issuer.url: Invalid value: \"https://u:p@i.example\": URL must not contain a username "
            "or password"},
        BadCase{"Query", Issuer("https://i.example?a=b"),
                "jwt[0].issuer.url: Invalid value: \"https://i.example?a=b\": URL must not contain a query"},
        BadCase{"Fragment", Issuer("https://i.example#f"),
                "jwt[0].issuer.url: Invalid value: \"https://i.example#f\": URL must not contain a fragment"},
        BadCase{
            "OurOwn", Issuer("https://kubernetes.default.svc"),
            "jwt[0].issuer.url: Invalid value: \"https://kubernetes.default.svc\": URL must not overlap with "
            "disallowed issuers: [https://kubernetes.default.svc]"},
        BadCase{"SameDiscovery",
                Issuer("https://i.example", "    discoveryURL: https://i.example/\n    audiences: [a]\n"),
                "jwt[0].issuer.discoveryURL: Invalid value: \"https://i.example/\": discoveryURL must be "
                "different "
                "from URL"},
        BadCase{"NoAudience", Issuer("https://i.example", ""),
                "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"},
        BadCase{"TwoAudiences", Issuer("https://i.example", "    audiences: [a, b]\n"),
                "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be "
                "MatchAny for "
                "multiple audiences"},
        BadCase{"SameAudience",
                Issuer("https://i.example", "    audiences: [a, a]\n    audienceMatchPolicy: MatchAny\n"),
                "jwt[0].issuer.audiences[1]: Duplicate value: \"a\""},
        BadCase{
            "Policy", Issuer("https://i.example", "    audiences: [a]\n    audienceMatchPolicy: All\n"),
            "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"All\": audienceMatchPolicy must be empty or "
            "MatchAny for single audience"},
        BadCase{"Authority",
                Issuer("https://i.example", "    audiences: [a]\n    certificateAuthority: junk\n"),
                "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": no certificate in the "
                "authority's PEM text"},
        BadCase{"NoUsername", Mapping("{}"),
                "jwt[0].claimMappings.username: Required value: claim or expression is required"},
        BadCase{
            "NoPrefix", Mapping("{username: {claim: sub}}"),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It "
            "can be set to an empty string to disable prefixing"},
        BadCase{"ClaimAndExpression", Mapping("{username: {claim: sub, prefix: '', expression: claims.sub}}"),
                "jwt[0].claimMappings.username: Invalid value: \"\": claim and expression can't both be set"},
        BadCase{"Syntax", Mapping("{username: {expression: 'claims.'}}"),
                "jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation failed: "
                "ERROR: "
                "<input>:1:8: Syntax error: no viable alternative at input '.'\n | "
                "claims.\n | .......^"},
        BadCase{"PrefixAndExpression", Mapping("{username: {prefix: p, expression: claims.sub}}"),
                "jwt[0].claimMappings.username.prefix: Invalid value: \"p\": may not be specified when "
                "expression is "
                "set"},
        BadCase{
            "OtherVariable", Mapping("{username: {expression: user.username}}"),
            "jwt[0].claimMappings.username.expression: Invalid value: \"user.username\": compilation failed: "
            "ERROR: <input>:1:1: undeclared reference to 'user' (in container '')\n | user.username\n | ^"},
        BadCase{
            "UnverifiedEmail", Mapping("{username: {expression: claims.email}}"),
            "jwt[0].claimMappings.username.expression: Invalid value: \"claims.email\": "
            "claims.email_verified "
            "must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or "
            "claimValidationRules[*].expression when claims.email is used in "
            "claimMappings.username.expression"},
        BadCase{
            "OptionalEmail", Mapping("{username: {expression: 'claims.?email.orValue(\"a\")'}}"),
            "jwt[0].claimMappings.username.expression: Invalid value: \"claims.?email.orValue(\\\"a\\\")\": "
            "claims.email_verified must be used in claimMappings.username.expression or "
            "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email "
            "is "
            "used in claimMappings.username.expression"},
        BadCase{"ReservedExtra", Extra("{key: a.kubernetes.io/x, valueExpression: claims.x}"),
                "jwt[0].claimMappings.extra[0].key: Invalid value: \"a.kubernetes.io/x\": k8s.io, "
                "kubernetes.io and "
                "their subdomains are reserved for Kubernetes use"},
        BadCase{"PlainExtra", Extra("{key: x, valueExpression: claims.x}"),
                "jwt[0].claimMappings.extra[0].key: Invalid value: \"x\": must be a domain-prefixed path "
                "(such as "
                "\"acme.io/foo\")"},
        BadCase{"UpperExtra", Extra("{key: acme.io/X, valueExpression: claims.x}"),
                "jwt[0].claimMappings.extra[0].key: Invalid value: \"acme.io/X\": must be lowercase"},
        BadCase{
            "SameExtra",
            Extra("{key: acme.io/x, valueExpression: claims.x}, {key: acme.io/x, valueExpression: claims.y}"),
            "jwt[0].claimMappings.extra[1].key: Duplicate value: \"acme.io/x\""},
        BadCase{"EmptyExtra", Extra("{key: acme.io/x}"),
                "jwt[0].claimMappings.extra[0].valueExpression: Required value"},
        BadCase{"EmptyRule", Rules("[{}]"),
                "jwt[0].claimValidationRules[0]: Required value: claim or expression is required"},
        BadCase{"RuleMessage", Rules("[{claim: a, message: m}]"),
                "jwt[0].claimValidationRules[0].message: Invalid value: \"m\": may not be specified when "
                "claim is "
                "set"},
        BadCase{"SameClaim", Rules("[{claim: a}, {claim: a}]"),
                "jwt[0].claimValidationRules[1].claim: Duplicate value: \"a\""},
        BadCase{
            "RuleNoBool", Rules("[{expression: claims.x}]"),
            "jwt[0].claimValidationRules[0].expression: Invalid value: \"claims.x\": must evaluate to bool"},
        BadCase{"SameExpression", Rules("[{expression: 'true'}, {expression: 'true'}]"),
                "jwt[0].claimValidationRules[1].expression: Duplicate value: \"true\""},
        BadCase{
            "RuleValue", Rules("[{expression: 'true', requiredValue: v}]"),
            "jwt[0].claimValidationRules[0].requiredValue: Invalid value: \"v\": may not be specified when "
            "expression is set"},
        BadCase{
            "UserRuleField", WithIssuer("", "  userValidationRules: [{expression: 'user.name != \"\"'}]\n"),
            "jwt[0].userValidationRules[0].expression: Invalid value: \"user.name != \\\"\\\"\": compilation "
            "failed: ERROR: <input>:1:5: undefined field 'name'\n | user.name != \"\"\n | ....^"},
        BadCase{
            "UserRuleNoBool", WithIssuer("", "  userValidationRules: [{expression: user.uid}]\n"),
            "jwt[0].userValidationRules[0].expression: Invalid value: \"user.uid\": must evaluate to bool"},
        BadCase{"EmptyUserRule", WithIssuer("", "  userValidationRules: [{}]\n"),
                "jwt[0].userValidationRules[0].expression: Required value"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(AuthenticationConfigTest, ExpressionsAreTakenInBothVersions) {
  for (const char* version : {"v1", "v1beta1"}) {
    std::string text = Mapping(
        "{username: {expression: 'claims.email_verified ? claims.email : \"\"'}, groups: {expression: "
        "claims.roles}, "
        "uid: {expression: claims.sub}, extra: [{key: acme.io/tenant, valueExpression: claims.tenant}]}");
    text.replace(text.find("/v1\n"), 4, "/" + std::string(version) + "\n");
    EXPECT_EQ(WrongWith(text), "") << version;
  }
}

TEST(AuthenticationConfigTest, AnIssuerIsNamedOnceAndThereAreNotTooMany) {
  const std::string one =
      "- {issuer: {url: 'https://i.example', audiences: [a]}, claimMappings: {username: {claim: sub, prefix: "
      "''}}}\n";
  EXPECT_EQ(WrongWith(std::string(kAuthenticationHead) + "jwt:\n" + one + one),
            "jwt[1].issuer.url: Duplicate value: \"https://i.example\"");
  std::string many = std::string(kAuthenticationHead) + "jwt:\n";
  for (int i = 0; i < 65; ++i) many += one;
  EXPECT_EQ(WrongWith(many), "jwt: Too many: 65: must have at most 64 items");
}

TEST(AuthenticationConfigTest, ConditionsNeedAnonymousAccess) {
  EXPECT_NE(WrongWith(WithIssuer() + "anonymous: {enabled: false, conditions: [{path: /livez}]}\n")
                .find("enabled should be set to true when conditions are defined"),
            std::string::npos);
}

TEST(AuthenticationConfigTest, FlagsMeanWhatUpstreamsMean) {
  OidcOptions flags;
  flags.issuer_url = "https://i.example";
  flags.client_id = "c";
  flags.required_claims = {{"hd", "example.com"}};
  EXPECT_EQ(IssuerOfFlags(flags)->username.prefix, "https://i.example#");
  EXPECT_EQ(IssuerOfFlags(flags)->audiences, std::vector<std::string>{"c"});
  EXPECT_EQ(IssuerOfFlags(flags)->claim_validation_rules.front().claim, "hd");
  flags.username_claim = "email";
  EXPECT_EQ(IssuerOfFlags(flags)->username.prefix, "");
  flags.username_claim = "sub";
  flags.username_prefix = "-";
  EXPECT_EQ(IssuerOfFlags(flags)->username.prefix, "");
  flags.username_prefix = "x:";
  flags.groups_claim = "g";
  EXPECT_EQ(IssuerOfFlags(flags)->username.prefix, "x:");
  EXPECT_EQ(IssuerOfFlags(flags)->groups.prefix, "");
  flags.ca_file = "/nowhere";
  EXPECT_FALSE(IssuerOfFlags(flags));
}

}  // namespace
}  // namespace flyball::server
