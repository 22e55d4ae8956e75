// Admission webhooks through the whole server, with a webhook server of the test's own.
#include <gtest/gtest.h>

#include "server/admission/webhooks/admission_review.h"
#include "server/testing/live_server.h"

namespace flyball::server {
namespace {

constexpr const char* kHookedMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kMutatingHooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kValidatingHooks =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

// What a webhook says of a review.
json::Value ReviewAnswer(const net::Request& request, json::Object response) {
  const json::Value review = *json::Parse(request.body);
  response.Set("uid", review["request"]["uid"]);
  return json::Object{
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", std::move(response)}};
}
RemoteServer::Answer Says(json::Object response) {
  return [response](const net::Request& request) { return JsonResponse(ReviewAnswer(request, response)); };
}
json::Object Patches(const std::string& patch) {
  return {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", net::Base64Encode(patch)}};
}

class AdmissionWebhooksTest : public LiveServerTest {
 protected:
  explicit AdmissionWebhooksTest(const ApiServerOptions& options = {}) : LiveServerTest(options) {}

  // One webhook; `more` is further members of it.
  std::string Entry(const std::string& name, const std::string& more = "", const std::string& rule = "",
                    const std::string& path = "/hook") const {
    return R"({"name":")" + name +
           R"(","admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":)" +
           hook_.ClientConfig(path) + R"(,"rules":[)" + (rule.empty() ? std::string(kMapRule) : rule) + "]" +
           more + "}";
  }
  void Configure(const char* kind, const std::string& name, const std::string& entries) {
    const auto made =
        Do("POST", kind, R"({"metadata":{"name":")" + name + R"("},"webhooks":[)" + entries + "]}");
    ASSERT_EQ(made.status, 201) << made.message();
  }
  LiveReply Create(const std::string& name, const std::string& query = "",
                   const std::string& data = R"({"a":"b"})") {
    return Do("POST", kHookedMaps + query, R"({"metadata":{"name":")" + name + R"("},"data":)" + data + "}");
  }
  json::Value Sent() const { return (*json::Parse(hook_.last().body))["request"]; }
  bool HasMetric(const std::string& line) const {
    return metrics_.Serialize().find(line) != std::string::npos;
  }

  static constexpr const char* kMapRule =
      R"({"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]})";
  RemoteServer hook_{Says({{"allowed", true}})};
};

TEST_F(AdmissionWebhooksTest, TheReviewHasEverythingOfTheRequest) {
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  ASSERT_EQ(Create("m", "?fieldManager=tests").status, 201);
  EXPECT_EQ(hook_.last().target, "/hook?timeout=10s");
  const auto sent = Sent();
  EXPECT_EQ(json::Write(sent["kind"]), R"({"group":"","version":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(json::Write(sent["resource"]), R"({"group":"","version":"v1","resource":"configmaps"})");
  EXPECT_EQ(json::Write(sent["requestKind"]), json::Write(sent["kind"]));
  EXPECT_EQ(sent["name"].string_or(""), "m");
  EXPECT_EQ(sent["namespace"].string_or(""), "default");
  EXPECT_EQ(sent["operation"].string_or(""), "CREATE");
  EXPECT_EQ(sent["userInfo"]["username"].string_or(""), "admin");
  EXPECT_EQ(sent["object"]["data"]["a"].string_or(""), "b");
  EXPECT_FALSE(sent["object"]["metadata"]["uid"].string_or("").empty());
  EXPECT_TRUE(sent["oldObject"].is_null());
  EXPECT_FALSE(sent["dryRun"].bool_or(true));
  EXPECT_EQ(json::Write(sent["options"]),
            R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"tests"})");
}

TEST_F(AdmissionWebhooksTest, MutatingWebhooksSeeNeitherUidNorGeneratedName) {
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  ASSERT_EQ(Do("POST", kHookedMaps, R"({"metadata":{"generateName":"gen-"}})").status, 201);
  EXPECT_EQ(Sent()["object"]["metadata"].Find("uid"), nullptr) << json::Write(Sent());
  EXPECT_EQ(Sent()["object"]["metadata"].Find("name"), nullptr);
  EXPECT_EQ(Sent().Find("name"), nullptr);
}

TEST_F(AdmissionWebhooksTest, ARefusalIsTheWebhooksStatus) {
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  hook_.SetAnswer(
      Says({{"allowed", false}, {"status", json::Object{{"message", "no such data"}, {"code", 422}}}}));
  const auto refused = Create("m");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(), "admission webhook \"v.example.com\" denied the request: no such data");
  hook_.SetAnswer(Says({{"allowed", false}}));
  const auto silent = Create("m");
  EXPECT_EQ(silent.status, 400);
  EXPECT_EQ(silent.message(), "admission webhook \"v.example.com\" denied the request without explanation");
  EXPECT_EQ(silent.value["status"].string_or(""), "Failure");
  // Codes below 400 are no refusal; reasons may be anything.
  hook_.SetAnswer(
      Says({{"allowed", false},
            {"status", json::Object{{"reason", "bad luck"}, {"code", 200}, {"status", "Success"}}}}));
  const auto reason = Create("m");
  EXPECT_EQ(reason.status, 400);
  EXPECT_EQ(reason.message(), "admission webhook \"v.example.com\" denied the request: bad luck");
  EXPECT_EQ(reason.value["reason"].string_or(""), "bad luck");
  EXPECT_TRUE(
      HasMetric("apiserver_admission_webhook_rejection_count{error_type=\"no_error\",name=\"v.example.com\","
                "operation=\"CREATE\",rejection_code=\"422\",type=\"validating\"} 1"));
  EXPECT_EQ(Do("GET", std::string(kHookedMaps) + "/m").status, 404);
}

TEST_F(AdmissionWebhooksTest, APatchChangesTheObjectAndItIsDefaultedAndChecked) {
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  hook_.SetAnswer(Says(
      Patches(R"([{"op":"add","path":"/data/c","value":"d"},{"op":"add","path":"/nonsense","value":1}])")));
  const auto made = Create("m");
  EXPECT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(json::Write(made.value["data"]), R"({"a":"b","c":"d"})");
  EXPECT_EQ(made.value.Find("nonsense"), nullptr);
  // What a webhook makes is validated like anything else.
  hook_.SetAnswer(Says(Patches(R"([{"op":"add","path":"/data/not a key","value":"d"}])")));
  EXPECT_EQ(Create("n").status, 422);
  hook_.SetAnswer(Says(Patches(R"([{"op":"add","path":"/data","value":7}])")));
  const auto wrong = Create("n");
  EXPECT_EQ(wrong.status, 500);
  EXPECT_TRUE(wrong.message().starts_with("Internal error occurred: ")) << wrong.message();
}

TEST_F(AdmissionWebhooksTest, PatchesThatDoNotApply) {
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  hook_.SetAnswer(Says(Patches(R"([{"op":"remove","path":"/data/zzz"}])")));
  const auto refused = Create("m");
  EXPECT_EQ(refused.status, 500);
  EXPECT_TRUE(refused.message().starts_with("Internal error occurred: ")) << refused.message();
  // Doubling an object again and again ends at a bound.
  std::string bomb = R"([{"op":"add","path":"/data/x","value":"0123456789"})";
  for (int i = 0; i < 40; ++i)
    bomb += R"(,{"op":"copy","from":"/data","path":"/data/y)" + std::to_string(i) + "\"}";
  hook_.SetAnswer(Says(Patches(bomb + "]")));
  EXPECT_EQ(Create("m").status, 500);
}

TEST_F(AdmissionWebhooksTest, AnswersThatAreNone) {
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  const std::string failed = "Internal error occurred: failed calling webhook \"m.example.com\": ";
  const auto problem = [&](const std::function<void(json::Value&)>& change) {
    hook_.SetAnswer([change](const net::Request& request) {
      json::Value answer = ReviewAnswer(request, {{"allowed", true}});
      change(answer);
      return JsonResponse(answer);
    });
    const auto reply = Create("m");
    EXPECT_EQ(reply.status, 500);
    EXPECT_TRUE(reply.message().starts_with(failed)) << reply.message();
    return reply.message().substr(std::min(failed.size(), reply.message().size()));
  };
  EXPECT_EQ(problem([](json::Value& a) { a.as_object().Erase("response"); }),
            "received invalid webhook response: webhook response was absent");
  EXPECT_TRUE(problem([](json::Value& a) {
                a["response"]["uid"] = "other";
              }).starts_with("received invalid webhook response: expected response.uid=\""));
  EXPECT_EQ(problem([](json::Value& a) { a["kind"] = "Pod"; }),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
            "Kind=AdmissionReview, got admission.k8s.io/v1, Kind=Pod");
  EXPECT_EQ(problem([](json::Value& a) { a["response"]["patch"] = "W10="; }),
            "received invalid webhook response: webhook returned response.patch but not response.patchType");
  EXPECT_EQ(problem([](json::Value& a) { a["response"]["patchType"] = "JSONPatch"; }),
            "received invalid webhook response: webhook returned response.patchType but not response.patch");
  EXPECT_EQ(problem([](json::Value& a) {
              a["response"]["patch"] = net::Base64Encode(R"([{"op":"add","path":"/x","value":1}])");
              a["response"]["patchType"] = "Merge";
            }),
            "unsupported patch type \"Merge\"");
  EXPECT_TRUE(problem([](json::Value& a) {
                a["response"]["patch"] = net::Base64Encode("no");
                a["response"]["patchType"] = "JSONPatch";
              }).starts_with("received undecodable patch in webhook response: "));
  EXPECT_EQ(problem([](json::Value& a) { a["response"]["allowed"] = "yes"; }),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool");
  hook_.SetAnswer([](const net::Request&) {
    return net::Response{200, {}, std::string(kMaxAdmissionAnswer + 1, ' ')};
  });
  EXPECT_NE(Create("m").message().find("the response is larger than"), std::string::npos);
}

TEST_F(AdmissionWebhooksTest, ValidatingWebhooksMayNotPatch) {
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  hook_.SetAnswer(Says(Patches(R"([{"op":"add","path":"/data/c","value":"d"}])")));
  EXPECT_EQ(
      Create("m").message(),
      "Internal error occurred: failed calling webhook \"v.example.com\": received invalid webhook response: "
      "validating webhook may not return response.patch");
}

TEST_F(AdmissionWebhooksTest, TheFailurePolicyDecidesWhatFailureMeans) {
  Configure(kValidatingHooks, "v", Entry("v.example.com", R"(,"failurePolicy":"Ignore")"));
  Configure(kMutatingHooks, "m", Entry("m.example.com", R"(,"failurePolicy":"Ignore")"));
  hook_.SetAnswer([](const net::Request&) { return net::Response{500, {}, "oops"}; });
  EXPECT_EQ(Create("m").status, 201);
  EXPECT_TRUE(
      HasMetric("apiserver_admission_webhook_fail_open_count{name=\"v.example.com\",type=\"validating\"} 1"));
  EXPECT_TRUE(
      HasMetric("apiserver_admission_webhook_fail_open_count{name=\"m.example.com\",type=\"admit\"} 1"));
  // A refusal is no failure.
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Create("n").status, 400);
  Configure(kValidatingHooks, "w", Entry("w.example.com"));
  hook_.SetAnswer([](const net::Request&) { return net::Response{500, {}, "oops"}; });
  EXPECT_EQ(Create("n").message(),
            "Internal error occurred: failed calling webhook \"w.example.com\": failed to call "
            "webhook: an error on the server (\"unknown\") has prevented the request from succeeding");
}

TEST_F(AdmissionWebhooksTest, SlowOnesAreLeftAfterTheirTimeoutAndStallNobodyElse) {
  Configure(kValidatingHooks, "v", Entry("slow.example.com", R"(,"timeoutSeconds":1)"));
  hook_.SetAnswer([](const net::Request&) { return net::Response{}; });
  const auto lines = std::make_shared<WatchedLines>();
  net::Request create;
  create.method = "POST";
  create.target = kHookedMaps;
  create.body = R"({"metadata":{"name":"stuck"}})";
  calls_.push_back(admin_->Start(std::move(create), lines));
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})").status, 201);
  const auto late = Create("m");
  EXPECT_EQ(late.status, 500);
  EXPECT_EQ(late.message(),
            "Internal error occurred: failed calling webhook \"slow.example.com\": failed to call "
            "webhook: Post \"" +
                hook_.url() + "/hook?timeout=1s\": context deadline exceeded");
}

TEST_F(AdmissionWebhooksTest, OrderIsByConfigurationNameAndEachSeesTheOneBefore) {
  Configure(kMutatingHooks, "b", Entry("second.example.com", "", "", "/second"));
  Configure(kMutatingHooks, "a",
            Entry("first.example.com", "", "", "/first") + "," + Entry("third.example.com", "", "", "/mid"));
  hook_.SetAnswer([](const net::Request& request) {
    const std::string step = request.target.substr(1, request.target.find('?') - 1);
    const json::Value sent = (*json::Parse(request.body))["request"]["object"];
    const std::string so_far(sent["data"]["order"].string_or(""));
    return JsonResponse(ReviewAnswer(
        request, Patches(R"([{"op":"add","path":"/data/order","value":")" + so_far + step + R"(,"}])")));
  });
  EXPECT_EQ(Create("m").value["data"]["order"].string_or(""), "first,mid,second,");
}

TEST_F(AdmissionWebhooksTest, ReinvocationCallsThoseThatAskForItOnceMore) {
  Configure(kMutatingHooks, "a",
            Entry("again.example.com", R"(,"reinvocationPolicy":"IfNeeded")", "", "/again") + "," +
                Entry("never.example.com", "", "", "/never"));
  Configure(kMutatingHooks, "b", Entry("late.example.com", "", "", "/late"));
  hook_.SetAnswer([](const net::Request& request) {
    if (!request.target.starts_with("/late")) return JsonResponse(ReviewAnswer(request, {{"allowed", true}}));
    return JsonResponse(ReviewAnswer(request, Patches(R"([{"op":"add","path":"/data/late","value":"x"}])")));
  });
  ASSERT_EQ(Create("m").status, 201);
  EXPECT_EQ(hook_.requests("/again"), 2);
  EXPECT_EQ(hook_.requests("/never"), 1);
  EXPECT_EQ(hook_.requests("/late"), 1);
}

TEST_F(AdmissionWebhooksTest, WithoutAChangeNothingIsCalledAgain) {
  Configure(kMutatingHooks, "a",
            Entry("again.example.com", R"(,"reinvocationPolicy":"IfNeeded")", "", "/again"));
  Configure(kMutatingHooks, "b", Entry("late.example.com", "", "", "/late"));
  ASSERT_EQ(Create("m").status, 201);
  EXPECT_EQ(hook_.requests("/again"), 1);
}

TEST_F(AdmissionWebhooksTest, DryRunsOnlyCallThoseWithoutSideEffects) {
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  ASSERT_EQ(Create("m", "?dryRun=All").status, 201);
  EXPECT_TRUE(Sent()["dryRun"].bool_or(false));
  Configure(
      kMutatingHooks, "m",
      R"({"name":"m.example.com","admissionReviewVersions":["v1"],"sideEffects":"NoneOnDryRun","clientConfig":)" +
          hook_.ClientConfig("/quiet") + R"(,"rules":[)" + kMapRule + "]}");
  EXPECT_EQ(Create("m", "?dryRun=All").status, 201);
  EXPECT_EQ(hook_.requests("/quiet"), 1);
}

TEST_F(AdmissionWebhooksTest, UpdatesAndDeletesHaveTheOldObject) {
  ASSERT_EQ(Create("m").status, 201);
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  ASSERT_EQ(
      Do("PATCH", std::string(kHookedMaps) + "/m", R"({"data":{"a":"c"}})", "application/merge-patch+json")
          .status,
      200);
  EXPECT_EQ(Sent()["operation"].string_or(""), "UPDATE");
  EXPECT_EQ(Sent()["oldObject"]["data"]["a"].string_or(""), "b");
  EXPECT_EQ(Sent()["object"]["data"]["a"].string_or(""), "c");
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Do("DELETE", std::string(kHookedMaps) + "/m").status, 400);
  EXPECT_EQ(Sent()["operation"].string_or(""), "DELETE");
  EXPECT_TRUE(Sent()["object"].is_null());
  EXPECT_EQ(Sent()["oldObject"]["data"]["a"].string_or(""), "c");
  EXPECT_EQ(Do("DELETE", kHookedMaps).status, 400);
  EXPECT_EQ(Sent().Find("name"), nullptr);
  hook_.SetAnswer(Says({{"allowed", true}}));
  EXPECT_EQ(Do("DELETE", std::string(kHookedMaps) + "/m").status, 200);
}

TEST_F(AdmissionWebhooksTest, NothingCanBeMutatedInADelete) {
  ASSERT_EQ(Create("m").status, 201);
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  hook_.SetAnswer(Says(Patches(R"([{"op":"add","path":"/data/c","value":"d"}])")));
  const auto refused = Do("DELETE", std::string(kHookedMaps) + "/m");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.message(),
            "Internal error occurred: admission webhook \"m.example.com\" attempted to modify the "
            "object, which is not supported for this operation");
}

TEST_F(AdmissionWebhooksTest, ConfigurationsAreNeverSubjectToWebhooks) {
  Configure(kValidatingHooks, "all",
            Entry("all.example.com", "",
                  R"({"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]})"));
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Create("m").status, 400);
  EXPECT_EQ(Do("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
               R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})")
                .status,
            201);
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  EXPECT_EQ(Do("DELETE", std::string(kValidatingHooks) + "/all").status, 200);
  hook_.SetAnswer(Says({{"allowed", true}}));
  EXPECT_EQ(Create("m").status, 201);
}

TEST_F(AdmissionWebhooksTest, SelectorsDecideWhetherItIsCalled) {
  const std::string other = R"(,"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"other"}})";
  Configure(kValidatingHooks, "v",
            Entry("labels.example.com", R"(,"objectSelector":{"matchLabels":{"x":"y"}})") + "," +
                Entry("spaces.example.com", other));
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Create("no").status, 201);
  EXPECT_EQ(hook_.requests("/"), 0);
  EXPECT_EQ(Do("POST", kHookedMaps, R"({"metadata":{"name":"l","labels":{"x":"y"}}})").message(),
            "admission webhook \"labels.example.com\" denied the request without explanation");
}

TEST_F(AdmissionWebhooksTest, ConditionsDecideWhetherItIsCalled) {
  Configure(
      kValidatingHooks, "v",
      Entry("v.example.com",
            R"x(,"matchConditions":[{"name":"c","expression":"object.metadata.name.startsWith('x')"}])x"));
  Configure(
      kMutatingHooks, "m",
      Entry(
          "m.example.com",
          R"x(,"matchConditions":[{"name":"c","expression":"!authorizer.group('').resource('secrets').check('get').allowed()"}])x"));
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Create("m").status, 201);
  EXPECT_EQ(hook_.requests("/"), 0);
  EXPECT_EQ(Create("x").status, 400);
  EXPECT_EQ(hook_.requests("/"), 1);
}

TEST_F(AdmissionWebhooksTest, ConditionsThatCannotBeEvaluatedAreAFailure) {
  const std::string conditions =
      R"(,"matchConditions":[{"name":"c","expression":"object.data.missing == 'x'"}])";
  Configure(kValidatingHooks, "v", Entry("v.example.com", conditions + R"(,"failurePolicy":"Ignore")"));
  EXPECT_EQ(Create("m").status, 201);
  Configure(kValidatingHooks, "w", Entry("w.example.com", conditions));
  const auto refused = Create("n");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "configmaps \"n\" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no "
            "such key: missing");
  EXPECT_EQ(hook_.requests("/"), 0);
}

TEST_F(AdmissionWebhooksTest, WarningsReachTheClient) {
  Configure(kMutatingHooks, "m", Entry("m.example.com"));
  hook_.SetAnswer(Says({{"allowed", true}, {"warnings", json::Array{"mind the gap"}}}));
  EXPECT_EQ(Create("m").headers.Get("warning"), "299 - \"mind the gap\"");
}

TEST_F(AdmissionWebhooksTest, ScaleIsSeenAsAScaleAndMayBeChanged) {
  const std::string sets = "/apis/apps/v1/namespaces/default/deployments";
  ASSERT_EQ(
      Do("POST", sets,
         R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":
      {"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .status,
      201);
  Configure(
      kMutatingHooks, "m",
      Entry(
          "m.example.com", "",
          R"({"operations":["UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/scale"]})"));
  hook_.SetAnswer(Says(Patches(R"([{"op":"replace","path":"/spec/replicas","value":7}])")));
  const auto scaled =
      Do("PATCH", sets + "/d/scale", R"({"spec":{"replicas":3}})", "application/merge-patch+json");
  EXPECT_EQ(scaled.value["spec"]["replicas"].int_or(0), 7) << scaled.message();
  EXPECT_EQ(Sent()["kind"]["kind"].string_or(""), "Scale");
  EXPECT_EQ(Sent()["subResource"].string_or(""), "scale");
  EXPECT_EQ(Sent()["object"]["spec"]["replicas"].int_or(0), 3);
  EXPECT_EQ(Sent()["oldObject"]["spec"]["replicas"].int_or(0), 1);
  EXPECT_EQ(Do("GET", sets + "/d").value["spec"]["replicas"].int_or(0), 7);
}

TEST_F(AdmissionWebhooksTest, AnEquivalentVersionIsConverted) {
  Configure(
      kMutatingHooks, "m",
      Entry(
          "m.example.com", "",
          R"({"operations":["CREATE"],"apiGroups":["autoscaling"],"apiVersions":["v1"],"resources":["horizontalpodautoscalers"]})"));
  hook_.SetAnswer(
      Says(Patches(R"([{"op":"add","path":"/spec/targetCPUUtilizationPercentage","value":42}])")));
  const auto made =
      Do("POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
         R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1",
      "kind":"Deployment","name":"d"}}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(Sent()["kind"]["version"].string_or(""), "v1");
  EXPECT_EQ(Sent()["requestKind"]["version"].string_or(""), "v2");
  EXPECT_EQ(made.value["apiVersion"].string_or(""), "autoscaling/v2");
  EXPECT_EQ(made.value["spec"]["metrics"].as_array()[0]["resource"]["target"]["averageUtilization"].int_or(0),
            42)
      << json::Write(made.value);
}

TEST_F(AdmissionWebhooksTest, ConnectionsAreAskedAbout) {
  Configure(
      kValidatingHooks, "v",
      Entry(
          "v.example.com", "",
          R"({"operations":["CONNECT"],"apiGroups":["*"],"apiVersions":["*"],"resources":["pods/attach"]})"));
  hook_.SetAnswer(Says({{"allowed", false}, {"status", json::Object{{"message", "no attaching"}}}}));
  const auto refused = Do("POST", "/api/v1/namespaces/default/pods/p/attach?stdin=true&container=c");
  EXPECT_EQ(refused.message(), "admission webhook \"v.example.com\" denied the request: no attaching");
  EXPECT_EQ(json::Write(Sent()["object"]),
            R"({"kind":"PodAttachOptions","apiVersion":"v1","stdin":true,"container":"c"})");
  EXPECT_EQ(Sent()["operation"].string_or(""), "CONNECT");
}

TEST_F(AdmissionWebhooksTest, BindingsAreSeenAsBindings) {
  Configure(
      kValidatingHooks, "v",
      Entry(
          "v.example.com", "",
          R"({"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/binding"]})"));
  hook_.SetAnswer(Says({{"allowed", false}}));
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/pods/p/binding",
               R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}})")
                .status,
            400);
  EXPECT_EQ(Sent()["object"]["kind"].string_or(""), "Binding");
  EXPECT_EQ(Sent()["object"]["target"]["name"].string_or(""), "n");
}

TEST_F(AdmissionWebhooksTest, CustomResourcesAreMutatedPrunedAndConverted) {
  ASSERT_EQ(Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               R"({"metadata":{"name":"tests.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"tests","kind":"Test"},"versions":[
    {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"data":{"type":"object","properties":{"known":{"type":"string"},"defaulted":{"type":"string","default":"yes"}}}}}}},
    {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"data":{"type":"object","properties":{"known":{"type":"string"},"defaulted":{"type":"string","default":"yes"}}}}}}}]}})")
                .status,
            201);
  const std::string tests = "/apis/example.com/v1/namespaces/default/tests";
  ASSERT_TRUE(Eventually([&] { return Do("GET", tests).status == 200; }));
  Configure(
      kMutatingHooks, "m",
      Entry(
          "m.example.com", "",
          R"({"operations":["CREATE"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["tests"]})"));
  hook_.SetAnswer(Says(Patches(R"([{"op":"add","path":"/data","value":{"known":"k","unknown":"u"}}])")));
  const auto made =
      Do("POST", tests, R"({"apiVersion":"example.com/v1","kind":"Test","metadata":{"name":"t"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(Sent()["object"]["apiVersion"].string_or(""), "example.com/v2");
  EXPECT_EQ(made.value["apiVersion"].string_or(""), "example.com/v1");
  EXPECT_EQ(json::Write(made.value["data"]), R"({"known":"k","defaulted":"yes"})");
}

TEST_F(AdmissionWebhooksTest, AServerThatIsNotThereFailsInUpstreamsWords) {
  Configure(kValidatingHooks, "v", Entry("v.example.com"));
  hook_.Stop();
  const std::string port = std::to_string(hook_.port());
  EXPECT_EQ(Create("m").message(),
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
            "webhook: Post \"https://127.0.0.1:" +
                port + "/hook?timeout=10s\": dial tcp 127.0.0.1:" + port + ": connect: connection refused");
  EXPECT_TRUE(
      HasMetric("apiserver_admission_webhook_rejection_count{error_type=\"calling_webhook_error\",name=\"v."
                "example.com\",operation=\"CREATE\",rejection_code=\"503\",type=\"validating\"} 1"));
}

TEST_F(AdmissionWebhooksTest, ValidatingWebhooksRunAtTheSameTime) {
  std::string entries;
  for (int i = 0; i < 8; ++i)
    entries += (i ? "," : "") + Entry("v" + std::to_string(i) + ".example.com",
                                      R"(,"timeoutSeconds":1,"failurePolicy":"Ignore")");
  Configure(kValidatingHooks, "v", entries);
  hook_.SetAnswer([](const net::Request&) { return net::Response{}; });
  const SteadyTime began = RealClock().Steady();
  EXPECT_EQ(Create("m").status, 201);
  EXPECT_LT(RealClock().Steady() - began, std::chrono::seconds(5));
  EXPECT_EQ(hook_.requests("/hook"), 8);
}

TEST(AdmissionAnswerTest, OldReviewsAreReadLeniently) {
  const auto answer =
      ReadAdmissionAnswer(R"({"response":{"allowed":true,"patch":")" +
                              net::Base64Encode(R"([{"op":"remove","path":"/x"}])") + R"("}})",
                          "v1beta1", "id", true);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->patch.size(), 1u);
  EXPECT_FALSE(ReadAdmissionAnswer(R"({"response":{"allowed":true}})", "v1", "id", true));
}

}  // namespace
}  // namespace flyball::server
