// Admission policies as clients meet them.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const char* const kPolicyApiGroup = "/apis/admissionregistration.k8s.io/v1/";
const char* const kPolicyConfigMaps = "/api/v1/namespaces/default/configmaps";
const char* const kPolicyMergePatch = "application/merge-patch+json";

class PoliciesTest : public ServerFixture {
 protected:
  PoliciesTest() {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  }
  // `rest`: more members of the spec, with a comma after each.
  void Policy(const std::string& name, const std::string& rest, const std::string& rule = kAllOfConfigMaps) {
    const auto made = Do("POST", std::string(kPolicyApiGroup) + "validatingadmissionpolicies",
                         R"({"metadata":{"name":")" + name + R"("},"spec":{)" + rest +
                             R"("matchConstraints":{"resourceRules":[)" + rule + "]}}}");
    ASSERT_EQ(made->status, 201) << made->body;
  }
  void Bind(const std::string& policy, const std::string& rest = R"("validationActions":["Deny"])") {
    Binding("validatingadmissionpolicybindings", policy, rest);
  }
  void Mutating(const std::string& name, const std::string& mutations, const std::string& rest = "",
                const std::string& rule = kCreateConfigMaps) {
    const auto made = Do("POST", std::string(kPolicyApiGroup) + "mutatingadmissionpolicies",
                         R"({"metadata":{"name":")" + name + R"("},"spec":{"mutations":[)" + mutations +
                             "]," + rest + R"("reinvocationPolicy":")" + reinvocation_ +
                             R"(","matchConstraints":{"resourceRules":[)" + rule + "]}}}");
    ASSERT_EQ(made->status, 201) << made->body;
    Binding("mutatingadmissionpolicybindings", name, "");
  }
  void Binding(const std::string& plural, const std::string& policy, const std::string& rest) {
    const auto bound = Do("POST", kPolicyApiGroup + plural,
                          R"({"metadata":{"name":")" + policy + R"(-binding"},"spec":{"policyName":")" +
                              policy + "\"" + (rest.empty() ? "" : "," + rest) + "}}");
    ASSERT_EQ(bound->status, 201) << bound->body;
  }
  static std::string Apply(const std::string& expression) {
    return R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)" +
           json::Write(json::Value(expression)) + "}}";
  }
  static std::string Patch(const std::string& expression) {
    return R"({"patchType":"JSONPatch","jsonPatch":{"expression":)" + json::Write(json::Value(expression)) +
           "}}";
  }
  static std::string Validation(const std::string& expression, const std::string& rest = "") {
    return R"("validations":[{"expression":)" + json::Write(json::Value(expression)) + rest + "}],";
  }
  std::shared_ptr<Reply> Create(const std::string& name, const std::string& data = "{}") {
    return Do("POST", kPolicyConfigMaps, R"({"metadata":{"name":")" + name + R"("},"data":)" + data + "}");
  }

  static constexpr const char* kAllOfConfigMaps =
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]})";
  static constexpr const char* kCreateConfigMaps =
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]})";
  std::string reinvocation_ = "Never";
};

TEST_F(PoliciesTest, ABoundPolicyDeniesAndOthersDoNot) {
  Policy("p", Validation("object.data.size() < 2", R"(,"message":"too much","reason":"Forbidden")"));
  EXPECT_EQ(Create("before", R"({"a":"1","b":"2"})")->status, 201);
  Bind("p");
  const auto denied = Create("big", R"({"a":"1","b":"2"})");
  EXPECT_EQ(denied->status, 403);
  EXPECT_EQ(denied->message(),
            "configmaps \"big\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied "
            "request: too much");
  EXPECT_EQ(denied->value()["reason"].string_or(""), "Forbidden");
  EXPECT_EQ(Create("small", R"({"a":"1"})")->status, 201);
  EXPECT_EQ(
      Do("DELETE", std::string(kPolicyApiGroup) + "validatingadmissionpolicybindings/p-binding")->status,
      200);
  EXPECT_EQ(Create("after", R"({"a":"1","b":"2"})")->status, 201);
}

TEST_F(PoliciesTest, TheMessageIsTheExpressionsTheGivenOneOrTheRule) {
  Policy("p", R"("variables":[{"name":"n","expression":"object.data.n"}],"validations":[
      {"expression":"variables.n != 'a'","messageExpression":"'not ' + variables.n","message":"m"},
      {"expression":"variables.n != 'b'","messageExpression":"variables.n.size() > 5 ? 'x' : ' '","message":"m"},
      {"expression":" variables.n != 'c' "}],)");
  Bind("p");
  const auto why = [&](const std::string& n) {
    const auto reply = Create("x", R"({"n":")" + n + "\"}");
    EXPECT_EQ(reply->status, 422) << reply->body;
    const std::string message = reply->message();
    return message.substr(message.find("denied request: ") + 16);
  };
  EXPECT_EQ(why("a"), "not a");
  EXPECT_EQ(why("b"), "m");
  EXPECT_EQ(why("c"), "failed expression: variables.n != 'c'");
}

TEST_F(PoliciesTest, FailuresDenyOrAreIgnored) {
  Policy("p", R"("failurePolicy":"Fail",)" + Validation("object.data.absent == 'x'"));
  Bind("p");
  const auto denied = Create("x");
  EXPECT_EQ(denied->status, 422);
  EXPECT_NE(denied->message().find("resulted in error: no such key: data"), std::string::npos)
      << denied->message();
  ASSERT_EQ(Do("PATCH", std::string(kPolicyApiGroup) + "validatingadmissionpolicies/p",
               R"({"spec":{"failurePolicy":"Ignore"}})", kPolicyMergePatch)
                ->status,
            200);
  EXPECT_EQ(Create("x")->status, 201);
  const std::string metrics = metrics_.Serialize();
  EXPECT_NE(metrics.find("apiserver_validating_admission_policy_check_total{enforcement_action=\"deny\""),
            std::string::npos);
  EXPECT_NE(metrics.find("enforcement_action=\"allow\""), std::string::npos);
}

TEST_F(PoliciesTest, WarnAndAuditLetTheRequestPass) {
  Policy("p", Validation("false", R"(,"message":"hm")"));
  Bind("p", R"("validationActions":["Warn","Audit"])");
  const auto warned = Create("x");
  EXPECT_EQ(warned->status, 201);
  EXPECT_EQ(warned->headers.Get("warning"),
            "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': hm\"");
}

TEST_F(PoliciesTest, DeletesAndUpdatesSeeTheOldObject) {
  Policy("p", R"x("validations":[
      {"expression":"request.operation != 'DELETE' || (object == null && !has(oldObject.data.keep))"},
      {"expression":"request.operation != 'UPDATE' || object.data.keep == oldObject.data.keep"}],)x");
  Bind("p");
  ASSERT_EQ(Create("x", R"({"keep":"1"})")->status, 201);
  EXPECT_EQ(Do("DELETE", std::string(kPolicyConfigMaps) + "/x")->status, 422);
  EXPECT_EQ(Do("PATCH", std::string(kPolicyConfigMaps) + "/x", R"({"data":{"keep":"2"}})", kPolicyMergePatch)
                ->status,
            422);
  EXPECT_EQ(
      Do("PATCH", std::string(kPolicyConfigMaps) + "/x", R"({"data":{"o":"2"}})", kPolicyMergePatch)->status,
      200);
  const auto all = Do("DELETE", kPolicyConfigMaps);
  EXPECT_EQ(all->status, 422);
  EXPECT_TRUE(all->message().starts_with("configmaps \"Unknown\" is forbidden")) << all->message();
}

TEST_F(PoliciesTest, ParamsComeBySelectorAndEachIsChecked) {
  for (const char* max : {"3", "1"})
    ASSERT_EQ(Do("POST", kPolicyConfigMaps,
                 R"({"metadata":{"labels":{"use":"yes"},"name":"limit)" + std::string(max) +
                     R"("},"data":{"max":")" + max + "\"}}")
                  ->status,
              201);
  Policy("p", R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" +
                  Validation("object.data.size() <= int(params.data.max)"));
  Bind("p", R"("validationActions":["Deny"],"paramRef":{"selector":{"matchLabels":{"use":"yes"}},
      "parameterNotFoundAction":"Deny"})");
  EXPECT_EQ(Create("x", R"({"a":"1"})")->status, 201);
  EXPECT_EQ(Create("y", R"({"a":"1","b":"2"})")->status, 422);
}

TEST_F(PoliciesTest, MissingParamsDenyOrAllow) {
  Policy("p", R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" + Validation("false"));
  Bind("p", R"("validationActions":["Deny"],"paramRef":{"name":"absent","parameterNotFoundAction":"Allow"})");
  EXPECT_EQ(Create("x")->status, 201);
  Policy("q", R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" + Validation("true"));
  Bind("q", R"("validationActions":["Deny"],"paramRef":{"name":"absent","parameterNotFoundAction":"Deny"})");
  EXPECT_NE(
      Create("y")->message().find("failed to configure binding: no params found for policy binding with "
                                  "`Deny` parameterNotFoundAction"),
      std::string::npos);
}

TEST_F(PoliciesTest, AnUnknownParamKindIsAMisconfiguration) {
  Policy("p", R"("paramKind":{"apiVersion":"no.such/v1","kind":"Limit"},)" + Validation("true"));
  Bind("p", R"("validationActions":["Deny"],"paramRef":{"name":"x","parameterNotFoundAction":"Allow"})");
  EXPECT_NE(Create("x")->message().find("ValidatingAdmissionPolicy 'p' denied request: failed to configure "
                                        "policy: failed to find resource referenced by paramKind: "
                                        "'no.such/v1, Kind=Limit'"),
            std::string::npos);
}

TEST_F(PoliciesTest, NamespacedParamsNeedANamespace) {
  Policy("p", R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" + Validation("true"),
         R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["nodes"]})");
  Bind("p", R"("validationActions":["Deny"],"paramRef":{"name":"x","parameterNotFoundAction":"Allow"})");
  const auto denied = Do("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})");
  EXPECT_NE(denied->message().find("cannot use namespaced paramRef in policy binding that matches "
                                   "cluster-scoped resources"),
            std::string::npos)
      << denied->message();
}

TEST_F(PoliciesTest, TheAuthorizerIsAskedForTheUser) {
  Policy("p",
         Validation("authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"));
  Bind("p");
  Grant("ann", R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}])");
  const User ann{"ann", "", {}, {}};
  const std::string body = R"({"metadata":{"name":"x"}})";
  EXPECT_EQ(As(ann, "POST", kPolicyConfigMaps, body)->status, 422);
  Grant("ann", R"([{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}])");
  EXPECT_EQ(As(ann, "POST", kPolicyConfigMaps, body)->status, 201);
}

TEST_F(PoliciesTest, ScalesAndSubresourcesAreMatchedByName) {
  Policy("p",
         Validation("object.spec.replicas < 5 && object.kind == 'Scale' && request.subResource == 'scale'"),
         R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["*/scale"]})");
  Bind("p");
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  ASSERT_EQ(Do("POST", deployments,
               R"({"metadata":{"name":"d"},"spec":{"replicas":9,"selector":{"matchLabels":{"a":"b"}},
                  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                ->status,
            201);
  const auto scale = [&](int replicas) {
    return Do("PATCH", deployments + "/d/scale", R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}",
              kPolicyMergePatch);
  };
  EXPECT_EQ(scale(8)->status, 422);
  EXPECT_EQ(scale(3)->status, 200);
}

TEST_F(PoliciesTest, ConnectionsCanBeDenied) {
  Policy("p", Validation("!('sh' in object.command)", R"(,"message":"no shells")"),
         R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods/exec"]})");
  Bind("p");
  const auto denied = Do("POST", "/api/v1/namespaces/default/pods/x/exec?command=sh&stdout=1");
  EXPECT_EQ(denied->status, 422);
  EXPECT_NE(denied->message().find("no shells"), std::string::npos) << denied->message();
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/pods/x/exec?command=ls&stdout=1")->status, 404);
}

TEST_F(PoliciesTest, OtherVersionsOfAResourceMatchUnlessExactOnesAreWanted) {
  const auto policy = [&](const std::string& name, const std::string& match) {
    const auto made = Do("POST", std::string(kPolicyApiGroup) + "validatingadmissionpolicies",
                         R"({"metadata":{"name":")" + name + R"("},"spec":{)" +
                             Validation("object.apiVersion != 'autoscaling/v1'", R"(,"messageExpression":
                                 "request.kind.version + request.requestKind.version")") +
                             R"("matchConstraints":{"matchPolicy":")" + match + R"(","resourceRules":[
          {"apiGroups":["autoscaling"],"apiVersions":["v1"],"operations":["*"],
           "resources":["horizontalpodautoscalers"]}]}}})");
    ASSERT_EQ(made->status, 201) << made->body;
    Bind(name);
  };
  const auto create = [&](const std::string& name) {
    return Do("POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All",
              R"({"metadata":{"name":")" + name + R"("},"spec":{"maxReplicas":2,"scaleTargetRef":
                 {"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}})");
  };
  policy("exact", "Exact");
  EXPECT_EQ(create("x")->status, 201) << create("x")->body;
  policy("equivalent", "Equivalent");
  EXPECT_NE(create("x")->message().find("denied request: v1v2"), std::string::npos) << create("x")->body;
}

TEST_F(PoliciesTest, PoliciesThemselvesAreExempt) {
  Policy("p", Validation("false"),
         R"({"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]})");
  Bind("p");
  EXPECT_EQ(Create("x")->status, 422);
  EXPECT_EQ(Do("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
               R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})")
                ->status,
            201);
  EXPECT_EQ(
      Do("DELETE", std::string(kPolicyApiGroup) + "validatingadmissionpolicybindings/p-binding")->status,
      200);
  EXPECT_EQ(Create("x")->status, 201);
}

TEST_F(PoliciesTest, ApplyConfigurationsAreMerged) {
  Mutating("m", Apply("Object{metadata: Object.metadata{labels: {'added': object.metadata.name}}}") + "," +
                    Patch("[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), "
                          "value: object.metadata.labels.added + '2'}]"));
  const auto made = Do("POST", kPolicyConfigMaps, R"({"metadata":{"name":"x","labels":{"own":"1"}}})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(json::Write(made->value()["metadata"]["labels"]), R"({"a/b":"x2","added":"x","own":"1"})");
}

TEST_F(PoliciesTest, AtomicPartsWrongTypesAndNamesAreRefused) {
  const std::string pods =
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]})";
  const auto why = [&](const std::string& expression) {
    Mutating("m", Apply(expression), "", pods);
    const auto reply = Do("POST", "/api/v1/namespaces/default/pods",
                          R"({"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    EXPECT_EQ(reply->status, 403) << reply->body;
    EXPECT_EQ(reply->value()["reason"].string_or(""), "Invalid");
    Do("DELETE", std::string(kPolicyApiGroup) + "mutatingadmissionpolicybindings/m-binding");
    Do("DELETE", std::string(kPolicyApiGroup) + "mutatingadmissionpolicies/m");
    const std::string message = reply->message();
    return message.substr(std::min(message.size(), message.find("denied request: ") + 16));
  };
  EXPECT_EQ(
      why("Object{spec: Object.spec{nodeSelector: {'disk': 'ssd'}}}"),
      "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
      ".spec.nodeSelector");
  EXPECT_EQ(why("Object{spec: Object.spec{nope: 1}}"),
            "error applying patch: failed to convert patch object to typed object: .spec.nope: field not "
            "declared in schema");
  EXPECT_EQ(why("Object{spec: Object.wrong{hostNetwork: true}}"),
            "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches "
            "field name path from root Object type");
}

TEST_F(PoliciesTest, AFailedTestLeavesTheObjectAndABrokenPatchDoesNot) {
  Mutating("m", Patch("[JSONPatch{op: 'test', path: '/data/a', value: 'x'}, "
                      "JSONPatch{op: 'add', path: '/data/b', value: 'y'}]"));
  EXPECT_EQ(json::Write(Create("one", R"({"a":"1"})")->value()["data"]), R"({"a":"1"})");
  EXPECT_EQ(json::Write(Create("two", R"({"a":"x"})")->value()["data"]), R"({"a":"x","b":"y"})");
  Mutating("n", Patch("[JSONPatch{op: 'remove', path: '/data/none'}]"));
  const auto broken = Create("three", R"({"a":"1"})");
  EXPECT_EQ(broken->status, 403) << broken->body;
  EXPECT_NE(broken->message().find("denied request: JSON Patch: "), std::string::npos) << broken->message();
}

TEST_F(PoliciesTest, AnObjectThatAPatchBreaksIsAnInternalError) {
  Mutating("m", Patch("[JSONPatch{op: 'add', path: '/data', value: 'text'}]"));
  EXPECT_EQ(Create("x")->status, 500);
}

TEST_F(PoliciesTest, EarlierPoliciesRunAgainIfTheyWantTo) {
  reinvocation_ = "IfNeeded";
  Mutating("a", Apply("Object{data: {'count': string(object.data.size())}}"));
  reinvocation_ = "Never";
  Mutating("b", Apply("Object{data: {'more': 'x'}}"));
  const auto made = Create("x", R"({"seed":"1"})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(json::Write(made->value()["data"]), R"({"count":"3","more":"x","seed":"1"})");
}

TEST_F(PoliciesTest, MutatedObjectsAreDefaultedAndValidated) {
  const std::string services =
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["services"]})";
  Mutating("m", Apply("Object{spec: Object.spec{ports: [Object.spec.ports{port: 81, name: 'x'}]}}"), "",
           services);
  const auto made = Do("POST", "/api/v1/namespaces/default/services",
                       R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80,"name":"y"}]}})");
  ASSERT_EQ(made->status, 201) << made->body;
  const auto value = made->value();
  ASSERT_EQ(value["spec"]["ports"].size(), 2u) << made->body;
  for (const auto& port : value["spec"]["ports"].as_array()) {
    EXPECT_EQ(port["protocol"].string_or(""), "TCP");
    EXPECT_FALSE(port["targetPort"].is_null());
  }
}

TEST_F(PoliciesTest, NamesAreGeneratedAfterMutation) {
  Mutating("m", Apply("Object{data: {'named': string(has(object.metadata.name))}}"));
  const auto made = Do("POST", kPolicyConfigMaps, R"({"metadata":{"generateName":"x-"}})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->value()["data"]["named"].string_or(""), "false");
  EXPECT_TRUE(made->value()["metadata"]["name"].string_or("").starts_with("x-"));
}

TEST_F(PoliciesTest, StoredExpressionsMayStayAndNewOnesMustCompile) {
  const std::string hooks = std::string(kPolicyApiGroup) + "validatingwebhookconfigurations";
  const auto config = [](const std::string& expression) {
    return R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","sideEffects":"None",
      "admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x"},"matchConditions":[{"name":"n",
      "expression":")" +
           expression + "\"}]}]}";
  };
  const auto refused = Do("POST", hooks, config("nope"));
  EXPECT_EQ(refused->status, 422);
  EXPECT_NE(refused->message().find("webhooks[0].matchConditions[0].expression: Invalid value: \"nope\": "
                                    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'"),
            std::string::npos)
      << refused->message();
  EXPECT_EQ(Do("POST", hooks, config("object.x == 1"))->status, 201);
  EXPECT_EQ(Do("PATCH", hooks + "/w", R"({"metadata":{"labels":{"a":"b"}}})", kPolicyMergePatch)->status,
            200);
}

}  // namespace
}  // namespace flyball::server
