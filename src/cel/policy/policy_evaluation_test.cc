#include "cel/policy/policy_evaluation.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cel {
namespace {

json::Value ParsePolicyJson(std::string_view text) {
  return *json::Parse(text);
}

class PolicyEvaluationTest : public testing::Test {
 protected:
  void Variable(const std::string& name, const std::string& text) {
    variables_.push_back({name, compiler_.CompileVariable(name, text, options_)});
  }
  PolicyResult Evaluate(const std::string& text, std::int64_t budget = kPolicyCostBudget) {
    expression_ = compiler_.Compile(text, options_);
    evaluation_ = std::make_unique<PolicyEvaluation>(inputs_, variables_, budget);
    return evaluation_->Evaluate(expression_);
  }
  bool IsTrue(const std::string& text) {
    const PolicyResult result = Evaluate(text);
    EXPECT_EQ(result.error, "") << text;
    return result.value.IsTrue();
  }

  PolicyCompiler compiler_{PolicyCompiler::Composition::kVariables};
  PolicyCompileOptions options_{.params = true, .authorizer = true};
  std::vector<PolicyVariableExpression> variables_;
  json::Value object_ = ParsePolicyJson(R"({"spec":{"replicas":3}})");
  PolicyInputs inputs_{.object = &object_};
  PolicyExpression expression_;
  std::unique_ptr<PolicyEvaluation> evaluation_;
};

TEST_F(PolicyEvaluationTest, InputsAreVariablesAndAbsentOnesAreNull) {
  EXPECT_TRUE(IsTrue("object.spec.replicas == 3"));
  EXPECT_TRUE(IsTrue("oldObject == null && params == null && namespaceObject == null && request == null"));
}

TEST_F(PolicyEvaluationTest, VariablesAreEvaluatedOnceAndOnlyIfUsed) {
  Variable("replicas", "object.spec.replicas");
  Variable("twice", "variables.replicas * 2");
  Variable("broken", "object.nowhere");
  EXPECT_TRUE(IsTrue("variables.twice == 6 && variables.twice == 6"));
  const PolicyResult failed = Evaluate("variables.broken == 1");
  EXPECT_EQ(failed.kind, PolicyResult::Kind::kError);
  EXPECT_EQ(failed.error,
            "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to "
            "evaluate: no such key: nowhere");
}

TEST_F(PolicyEvaluationTest, AVariableThatDoesNotCompileFailsWhereItIsUsed) {
  Variable("wrong", "nope");
  EXPECT_TRUE(IsTrue("true"));
  const PolicyResult failed = Evaluate("variables.wrong == 1");
  EXPECT_NE(failed.error.find("composited variable \"wrong\" fails to compile: compilation failed: ERROR"),
            std::string::npos)
      << failed.error;
}

TEST_F(PolicyEvaluationTest, AVariableNamedTwiceDoesNotAskForItselfForEver) {
  Variable("a", "1");
  Variable("a", "variables.a + 1");
  EXPECT_EQ(Evaluate("variables.a == 1").kind, PolicyResult::Kind::kError);
}

TEST_F(PolicyEvaluationTest, VariablesKeepTheirPlainTypes) {
  Variable("number", "1");
  Variable("texts", "['a']");
  EXPECT_NE(compiler_.Compile("variables.number == 'x'", options_).error, "");
  EXPECT_NE(compiler_.Compile("variables.texts[0] == 1", options_).error, "");
  EXPECT_NE(compiler_.Compile("variables.other", options_).error.find("undefined field 'other'"),
            std::string::npos);
}

TEST_F(PolicyEvaluationTest, TheBudgetCountsTheVariablesOfAnExpression) {
  Variable("list", "[1, 2, 3, 4, 5].map(x, x * 2)");
  EXPECT_TRUE(Evaluate("variables.list.size() == 5").ok());
  const auto cost = kPolicyCostBudget - evaluation_->budget();
  EXPECT_EQ(Evaluate("variables.list.size() == 5", cost).kind, PolicyResult::Kind::kValue);
  const PolicyResult spent = Evaluate("variables.list.size() == 5", cost - 1);
  EXPECT_EQ(spent.kind, PolicyResult::Kind::kExhausted);
  EXPECT_EQ(spent.error,
            "validation failed due to running out of cost budget, no further validation rules will be run");
}

TEST_F(PolicyEvaluationTest, UndeclaredVariablesAreUnknown) {
  const PolicyCompileOptions none;
  EXPECT_NE(compiler_.Compile("params.x == 1", none).error.find("undeclared reference to 'params'"),
            std::string::npos);
  EXPECT_NE(compiler_.Compile("authorizer.requestResource.check('get').allowed()", none)
                .error.find("undeclared reference to 'authorizer'"),
            std::string::npos);
  PolicyCompiler plain(PolicyCompiler::Composition::kNone);
  EXPECT_NE(plain.Compile("variables.x", none).error.find("undeclared reference to 'variables'"),
            std::string::npos);
}

TEST_F(PolicyEvaluationTest, ResultsOfTheWrongTypeAreRefused) {
  EXPECT_EQ(compiler_.Compile("1", {.wanted = {"bool"}}).error, "must evaluate to bool but got int");
  EXPECT_EQ(compiler_.Compile("1", {.wanted = {"string", "null_type"}}).error,
            "must evaluate to one of [string null_type] but got int");
}

TEST_F(PolicyEvaluationTest, RequestAndNamespaceAreTyped) {
  EXPECT_NE(compiler_.Compile("request.nope", {}).error.find("undefined field 'nope'"), std::string::npos);
  EXPECT_NE(compiler_.Compile("namespaceObject.metadata.uid", {}).error.find("undefined field 'uid'"),
            std::string::npos);
  const json::Value request =
      ParsePolicyJson(R"({"operation":"CREATE","namespace":"n","userInfo":{"username":"u"}})");
  inputs_.request = &request;
  EXPECT_TRUE(IsTrue("request.operation == 'CREATE' && request.namespace == 'n'"));
  EXPECT_TRUE(IsTrue("request.userInfo.username == 'u' && !has(request.userInfo.groups)"));
}

struct OneVerb final : Authorizer {
  AuthorizerDecision Check(const AuthorizerQuery& query) override {
    asked = query;
    return {.allowed = query.verb == "get", .reason = "because", .error = ""};
  }
  AuthorizerQuery asked;
};

TEST_F(PolicyEvaluationTest, TheRequestResourceIsAskedAbout) {
  OneVerb authorizer;
  inputs_.authorizer = &authorizer;
  inputs_.request_resource.resource = "pods";
  inputs_.request_resource.name = "p";
  EXPECT_TRUE(IsTrue("authorizer.requestResource.check('get').allowed()"));
  EXPECT_EQ(authorizer.asked.resource + "/" + authorizer.asked.name, "pods/p");
  EXPECT_FALSE(IsTrue("authorizer.group('apps').resource('deployments').check('delete').allowed()"));
}

TEST_F(PolicyEvaluationTest, PatchTypesAreMadeAndChecked) {
  options_ = {.patch_types = true};
  const PolicyResult made = Evaluate("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}");
  ASSERT_TRUE(made.ok()) << made.error;
  EXPECT_EQ(TypeNameOf(made.value), "Object");
  EXPECT_TRUE(IsTrue("Object{a: 1} == Object{a: 1} && Object{a: 1} != Object{a: 2}"));
  EXPECT_TRUE(IsTrue("Object{a: 1}.a == 1"));
  EXPECT_NE(compiler_.Compile("[JSONPatch{op: 1}]", options_).error.find("expected type of field 'op'"),
            std::string::npos);
  EXPECT_EQ(Evaluate("[JSONPatch{op: dyn(1)}]").error,
            "expression '[JSONPatch{op: dyn(1)}]' resulted in error: unexpected type int64 for JSONPatchType "
            "'op' field");
  EXPECT_EQ(Evaluate("JSONPatch{other: 'x'}").kind, PolicyResult::Kind::kError);
}

TEST_F(PolicyEvaluationTest, NewExpressionsMayUseOnlyWhatAnOlderServerHas) {
  PolicyCompiler compiler(PolicyCompiler::Composition::kNone);
  EXPECT_EQ(compiler.Compile("['a'].includes('a')", {.stored = true}).error, "");
  EXPECT_NE(compiler.Compile("['a'].includes('a')", {.stored = false}).error, "");
}

}  // namespace
}  // namespace flyball::cel
