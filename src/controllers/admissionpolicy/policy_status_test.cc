#include "controllers/admissionpolicy/expression_type_check.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

const KindRef kPolicies{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy",
                        "validatingadmissionpolicies", false};

class PolicyStatusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartControllers({.enabled = {"validatingadmissionpolicy-status-controller"}});
  }
  // `rest`: more of the spec, as YAML flow members.
  json::Value StatusOf(const std::string& rest, const std::string& rule =
                                                    "apiGroups: [apps], apiVersions: [v1], resources: "
                                                    "[deployments]") {
    plane_.Create(
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: "
        "{name: p}, spec: {matchConstraints: {resourceRules: [{" +
        rule + ", operations: [CREATE]}]}, " + rest + "}}");
    plane_.Run(1s);
    const auto policy = plane_.client->Dynamic(kPolicies).Get("", "p");
    return policy ? (*policy)["status"] : json::Value();
  }
  testing::ControlPlane plane_;
};

TEST_F(PolicyStatusTest, AGoodPolicyIsCheckedWithoutWarnings) {
  const json::Value status = StatusOf("validations: [{expression: object.spec.replicas > 1}]");
  EXPECT_EQ(status["observedGeneration"].int_or(0), 1);
  EXPECT_TRUE(status["typeChecking"].is_object());
  EXPECT_TRUE(status["typeChecking"]["expressionWarnings"].is_null());
}

TEST_F(PolicyStatusTest, UnknownFieldsAndWrongTypesAreWarnedOf) {
  const json::Value status = StatusOf(
      "validations: [{expression: object.spec.nope > 1, messageExpression: 'string(object.metadata.zip)'}, "
      "{expression: 'object.spec.replicas == \"1\"'}]");
  const json::Value& warnings = status["typeChecking"]["expressionWarnings"];
  ASSERT_EQ(warnings.size(), 3u) << json::Write(status);
  const auto& list = warnings.as_array();
  EXPECT_EQ(list[0]["fieldRef"].string_or(""), "spec.validations[0].expression");
  EXPECT_EQ(list[0]["warning"].string_or(""),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nope'\n"
            " | object.spec.nope > 1\n"
            " | ...........^\n");
  EXPECT_EQ(list[1]["fieldRef"].string_or(""), "spec.validations[0].messageExpression");
  EXPECT_NE(list[2]["warning"].string_or("").find("found no matching overload for '_==_'"),
            std::string_view::npos);
}

TEST_F(PolicyStatusTest, VariablesAndParamsAreTyped) {
  const json::Value status = StatusOf(
      "paramKind: {apiVersion: v1, kind: ConfigMap}, variables: [{name: r, expression: "
      "object.spec.replicas}], validations: [{expression: 'variables.r == params.data.x'}]");
  EXPECT_EQ(status["typeChecking"]["expressionWarnings"].size(), 1u) << json::Write(status);
}

TEST_F(PolicyStatusTest, MetadataIsWholeAndQuantitiesHaveNoType) {
  const json::Value status = StatusOf(
      "validations: [{expression: 'object.metadata.generation == \"x\"'}, {expression: "
      "'object.metadata.creationTimestamp < timestamp(\"2020-01-01T00:00:00Z\")'}, {expression: "
      "'object.spec.template.spec.overhead[\"cpu\"] == \"1\"'}]");
  const json::Value& warnings = status["typeChecking"]["expressionWarnings"];
  ASSERT_EQ(warnings.size(), 2u) << json::Write(status);
  EXPECT_NE(warnings.as_array()[0]["warning"].string_or("").find("'(int, string)'"), std::string_view::npos);
  EXPECT_EQ(warnings.as_array()[1]["fieldRef"].string_or(""), "spec.validations[2].expression");
}

TEST_F(PolicyStatusTest, AnEmptyGroupMeansAnyAndSingularsName) {
  const json::Value status = StatusOf("validations: [{expression: object.nope == 1}]",
                                      "apiGroups: [''], apiVersions: [v1], resources: [event]");
  const auto warning = status["typeChecking"]["expressionWarnings"].as_array().at(0)["warning"].string_or("");
  EXPECT_NE(warning.find("/v1, Kind=Event: "), std::string_view::npos);
  EXPECT_NE(warning.find("events.k8s.io/v1, Kind=Event: "), std::string_view::npos);
}

TEST_F(PolicyStatusTest, RulesWithWildcardsAreNotChecked) {
  const json::Value status = StatusOf("validations: [{expression: object.nope == 1}]",
                                      "apiGroups: ['*'], apiVersions: [v1], resources: [deployments]");
  EXPECT_EQ(status["observedGeneration"].int_or(0), 1);
  EXPECT_TRUE(status["typeChecking"]["expressionWarnings"].is_null());
}

TEST_F(PolicyStatusTest, CustomKindsAreCheckedByTheirDefinition) {
  plane_.Create(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crons.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crons, kind: Cron}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object,
      properties: {replicas: {type: integer}}}}}}}
)");
  plane_.Run(1s);
  const json::Value status = StatusOf(
      "validations: [{expression: object.spec.replicas > 1 && has(object.metadata.labels)}, "
      "{expression: object.spec.other == 1}]",
      "apiGroups: [stable.example.com], apiVersions: [v1], resources: [crons]");
  const json::Value& warnings = status["typeChecking"]["expressionWarnings"];
  ASSERT_EQ(warnings.size(), 1u) << json::Write(status);
  EXPECT_EQ(warnings.as_array()[0]["fieldRef"].string_or(""), "spec.validations[1].expression");
}

}  // namespace
}  // namespace flyball::controllers
