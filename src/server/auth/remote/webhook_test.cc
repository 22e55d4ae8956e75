// The two webhooks: bearer tokens and authorization.
#include <gtest/gtest.h>

#include "server/auth/remote/webhook_authorizer.h"
#include "server/auth/remote/webhook_token_authenticator.h"
#include "server/testing/remote_server.h"

namespace flyball::server {
namespace {

class WebhookTest : public testing::Test {
 protected:
  ~WebhookTest() override {
    calls_.Stop();
    executor_.Stop();
  }
  WebhookContext Context() { return {executor_, random_, calls_}; }
  json::Value Sent() { return *json::Parse(remote_.last().body); }
  // Answers every review with this status.
  void Say(json::Value status) {
    remote_.SetAnswer([status = std::move(status)](const net::Request& request) {
      json::Value review = *json::Parse(request.body);
      review["status"] = status;
      return JsonResponse(review);
    });
  }

  OffsetClock clock_;
  ThreadPool executor_{"test", 2, clock_};
  Random random_{1};
  RemoteCalls calls_;
  Metrics metrics_;
  RemoteServer remote_{[](const net::Request&) { return net::Response{404, {}, ""}; }};
};

class TokenWebhookTest : public WebhookTest {
 protected:
  void Use(const std::string& version = "v1", const std::string& token = "") {
    auto made = NewWebhookTokenAuthenticator({remote_.Kubeconfig("/authenticate", token), version},
                                             {"api", "other"}, Context());
    ASSERT_TRUE(made) << made.error().message();
    webhook_ = std::move(*made);
  }
  MaybeTokenIdentity Check(const std::string& token, std::vector<std::string> audiences = {"api"}) {
    return Await<MaybeTokenIdentity>(executor_, [&]() -> Task<MaybeTokenIdentity> {
      return webhook_->Authenticate(token, audiences, executor_);
    });
  }
  static json::Value Ann() {
    return json::Object{
        {"authenticated", true},
        {"user", json::Object{{"username", "ann"},
                              {"uid", "42"},
                              {"groups", json::Array{"dev"}},
                              {"extra", json::Object{{"example.org/a", json::Array{"x", "y"}}}}}}};
  }

  std::unique_ptr<TokenAuthenticator> webhook_;
};

TEST_F(TokenWebhookTest, AKnownTokenIsItsUser) {
  Use();
  Say(Ann());
  const auto identity = Check("t1");
  ASSERT_TRUE(identity && *identity);
  const User wanted{"ann", "42", {"dev"}, {{"example.org/a", {"x", "y"}}}};
  EXPECT_EQ((*identity)->user, wanted);
  EXPECT_EQ((*identity)->audiences, std::vector<std::string>{"api"});
  EXPECT_EQ(remote_.last().method, "POST");
  EXPECT_EQ(remote_.last().target, "/authenticate?timeout=30s");
  EXPECT_EQ(Sent()["apiVersion"].string_or(""), "authentication.k8s.io/v1");
  EXPECT_EQ(Sent()["kind"].string_or(""), "TokenReview");
  EXPECT_EQ(Sent()["spec"]["token"].string_or(""), "t1");
  EXPECT_EQ(json::Write(Sent()["spec"]["audiences"]), "[\"api\"]");
}

TEST_F(TokenWebhookTest, SpeaksTheVersionAndShowsTheCredentialsItWasGiven) {
  Use("v1beta1", "secret");
  Say(Ann());
  ASSERT_TRUE(Check("t1"));
  EXPECT_EQ(Sent()["apiVersion"].string_or(""), "authentication.k8s.io/v1beta1");
  EXPECT_EQ(remote_.last().headers.Get("authorization"), "Bearer secret");
  const auto bad = NewWebhookTokenAuthenticator({remote_.Kubeconfig("/"), "v2"}, {}, Context());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(),
            "unsupported authentication webhook version \"v2\", supported versions are \"v1\", \"v1beta1\"");
}

TEST_F(TokenWebhookTest, AnUnknownTokenIsNobodys) {
  Use();
  Say(json::Object{{"authenticated", false}});
  EXPECT_EQ(*Check("t1"), std::nullopt);
  Say(json::Object{{"authenticated", false}, {"error", "revoked"}});
  const auto refused = Check("t2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "revoked");
}

TEST_F(TokenWebhookTest, ATokenForOthersIsNobodys) {
  Use();
  json::Value status = Ann();
  status["audiences"] = json::Array{"shop"};
  Say(status);
  EXPECT_EQ(*Check("t1"), std::nullopt);
  EXPECT_EQ(*Check("t2", {"shop"}) ? (**Check("t2", {"shop"})).audiences : std::vector<std::string>{},
            std::vector<std::string>{"shop"});
  Say(Ann());  // names none: then it is for this server
  EXPECT_EQ(*Check("t3", {"shop"}), std::nullopt);
}

TEST_F(TokenWebhookTest, AnswersAreKeptForTheirTime) {
  Use();
  Say(Ann());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(*Check("t1"));
  EXPECT_EQ(remote_.requests("/"), 1);
  ASSERT_TRUE(*Check("t1", {"other"}));
  EXPECT_EQ(remote_.requests("/"), 2) << "other audiences are another question";
  clock_.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(*Check("t1"));
  EXPECT_EQ(remote_.requests("/"), 3);
}

TEST_F(TokenWebhookTest, WhatItCannotSayIsAnErrorAndNotKept) {
  Use();
  remote_.SetAnswer([](const net::Request&) { return net::Response{403, {}, "no"}; });
  EXPECT_FALSE(Check("t1"));
  remote_.SetAnswer([](const net::Request&) { return net::Response{200, {}, "<html>"}; });
  EXPECT_FALSE(Check("t1"));
  remote_.SetAnswer([](const net::Request&) { return net::Response{200, {}, R"({"kind":"Status"})"}; });
  EXPECT_FALSE(Check("t1"));
  remote_.SetAnswer([](const net::Request&) { return net::Response{200, {}, std::string(2u << 20, ' ')}; });
  const auto large = Check("t1");
  ASSERT_FALSE(large);
  Say(Ann());
  EXPECT_TRUE(*Check("t1"));
  remote_.Stop();
  EXPECT_FALSE(Check("t2")) << "nothing listens";
}

TEST_F(TokenWebhookTest, AServerThatBreaksDownIsAskedAgain) {
  Use();
  auto failures = std::make_shared<std::atomic<int>>(2);
  remote_.SetAnswer([failures](const net::Request& request) {
    if ((*failures)-- > 0) return net::Response{500, {}, "oops"};
    json::Value review = *json::Parse(request.body);
    review["status"] = Ann();
    return JsonResponse(review);
  });
  EXPECT_TRUE(*Check("t1"));
  EXPECT_EQ(remote_.requests("/"), 3);
}

TEST_F(TokenWebhookTest, AServerThatNeverAnswersHoldsNobodyWhenTheServerStops) {
  Use();
  remote_.SetAnswer([](const net::Request&) { return net::Response{}; });
  Notification<bool> ended;
  const std::vector<std::string> audiences{"api"};
  const auto run = [&]() -> Task<void> {
    const auto result = co_await webhook_->Authenticate("t1", audiences, executor_);
    ended.Set(!result && result.error().Is(Reason::kCancelled));
  };
  executor_.Post([&] { Spawn(run(), [](std::exception_ptr) {}); });
  remote_.WaitForRequest();
  calls_.Stop();
  EXPECT_TRUE(ended.Wait());
}

class WebhookAuthorizerTest : public WebhookTest {
 protected:
  void Use(const std::string& failure_policy = "NoOpinion", const std::string& version = "v1",
           const std::vector<std::string>& conditions = {}) {
    WebhookAuthorizerConfig config;
    config.match_conditions = conditions;
    config.timeout = std::chrono::seconds(3);
    config.review_version = version;
    config.failure_policy = failure_policy;
    config.connection_type = "KubeConfigFile";
    config.kubeconfig_file = remote_.Kubeconfig("/authorize");
    auto made = NewWebhookAuthorizer("hook.example", config, Context(), metrics_);
    ASSERT_TRUE(made) << made.error().message();
    webhook_ = std::move(*made);
  }
  Verdict Ask(const std::string& verb = "get") {
    AuthorizationAttributes attributes;
    attributes.user = &ann_;
    attributes.verb = verb;
    attributes.group = "apps";
    attributes.version = "v1";
    attributes.resource = "deployments";
    attributes.subresource = "scale";
    attributes.namespace_name = "default";
    attributes.name = "web";
    return Ask(attributes);
  }
  Verdict Ask(const AuthorizationAttributes& attributes) {
    return Await<Verdict>(executor_,
                          [&]() -> Task<Verdict> { return webhook_->Authorize(attributes, executor_); });
  }
  bool Counted(const std::string& line) { return metrics_.Serialize().find(line) != std::string::npos; }

  const User ann_{"ann", "42", {"dev"}, {{"k", {"v"}}}};
  std::unique_ptr<Authorizer> webhook_;
};

TEST_F(WebhookAuthorizerTest, ItsAnswerIsTheVerdict) {
  Use();
  Say(json::Object{{"allowed", true}, {"reason", "fine"}});
  const Verdict allowed = Ask("get");
  EXPECT_EQ(allowed.decision, Decision::kAllow);
  EXPECT_EQ(allowed.reason, "fine");
  EXPECT_EQ(json::Write(Sent()["spec"]),
            R"({"resourceAttributes":{"namespace":"default","verb":"get","group":"apps","version":"v1",)"
            R"("resource":"deployments","subresource":"scale","name":"web"},"user":"ann","groups":["dev"],)"
            R"("extra":{"k":["v"]},"uid":"42"})");
  EXPECT_EQ(remote_.last().target, "/authorize?timeout=3s");
  Say(json::Object{{"allowed", false}, {"denied", true}, {"reason", "never"}});
  EXPECT_EQ(Ask("list").decision, Decision::kDeny);
  Say(json::Object{{"allowed", false}, {"reason", "unsure"}});
  EXPECT_EQ(Ask("watch").decision, Decision::kNoOpinion);
  Say(json::Object{{"allowed", true}, {"denied", true}});
  const Verdict both = Ask("create");
  EXPECT_EQ(both.decision, Decision::kDeny);
  EXPECT_TRUE(both.error);
  EXPECT_TRUE(Counted(
      R"(apiserver_authorization_webhook_evaluations_total{name="hook.example",result="success"} 4)"));
}

TEST_F(WebhookAuthorizerTest, PathsAndTheOlderVersion) {
  Use("NoOpinion", "v1beta1");
  Say(json::Object{{"allowed", true}});
  AuthorizationAttributes attributes;
  attributes.user = &ann_;
  attributes.is_resource = false;
  attributes.verb = "get";
  attributes.path = "/metrics";
  EXPECT_EQ(Ask(attributes).decision, Decision::kAllow);
  EXPECT_EQ(Sent()["apiVersion"].string_or(""), "authorization.k8s.io/v1beta1");
  EXPECT_EQ(json::Write(Sent()["spec"]["nonResourceAttributes"]), R"({"path":"/metrics","verb":"get"})");
  EXPECT_EQ(json::Write(Sent()["spec"]["group"]), R"(["dev"])");
}

TEST_F(WebhookAuthorizerTest, SelectorsAreSent) {
  Use();
  Say(json::Object{{"allowed", true}});
  AuthorizationAttributes attributes;
  attributes.user = &ann_;
  attributes.verb = "list";
  attributes.resource = "pods";
  attributes.field_terms = {{"spec.nodeName", "n1", true}, {"metadata.name", "x", false}};
  attributes.label_selector = "a=b,c notin (d),!e,f>1";
  EXPECT_EQ(Ask(attributes).decision, Decision::kAllow);
  EXPECT_EQ(json::Write(Sent()["spec"]["resourceAttributes"]["fieldSelector"]),
            R"({"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]},)"
            R"({"key":"metadata.name","operator":"NotIn","values":["x"]}]})");
  EXPECT_EQ(json::Write(Sent()["spec"]["resourceAttributes"]["labelSelector"]),
            R"({"requirements":[{"key":"a","operator":"In","values":["b"]},)"
            R"({"key":"c","operator":"NotIn","values":["d"]},{"key":"e","operator":"DoesNotExist"}]})");
}

TEST_F(WebhookAuthorizerTest, OnlyRequestsThatMatchAreAskedAbout) {
  Use("Deny", "v1",
      {"has(request.resourceAttributes)", "request.resourceAttributes.namespace == 'default'",
       "!('system:nodes' in request.groups)", "request.resourceAttributes.verb != 'get'"});
  Say(json::Object{{"allowed", true}});
  EXPECT_EQ(Ask("list").decision, Decision::kAllow);
  EXPECT_EQ(Ask("get").decision, Decision::kNoOpinion);
  EXPECT_TRUE(Counted(
      R"(apiserver_authorization_match_condition_exclusions_total{name="hook.example",type="Webhook"} 1)"));
  // A condition that says no counts more than one that cannot be evaluated.
  AuthorizationAttributes path;
  path.user = &ann_;
  path.is_resource = false;
  path.verb = "get";
  path.path = "/metrics";
  const Verdict skipped = Ask(path);
  EXPECT_EQ(skipped.decision, Decision::kNoOpinion);
  EXPECT_FALSE(skipped.error);
}

TEST_F(WebhookAuthorizerTest, AConditionThatCannotBeEvaluatedIsAFailure) {
  const std::vector<std::string> conditions = {"request.nonResourceAttributes.path == '/x'"};
  for (const auto& [policy, decision] :
       {std::pair("Deny", Decision::kDeny), std::pair("NoOpinion", Decision::kNoOpinion)}) {
    Use(policy, "v1", conditions);
    const Verdict verdict = Ask("list");
    EXPECT_EQ(verdict.decision, decision) << policy;
    ASSERT_TRUE(verdict.error);
    EXPECT_EQ(
        verdict.error->message(),
        "cel evaluation error: expression 'request.nonResourceAttributes.path == '/x'' resulted in error: no "
        "such key: nonResourceAttributes");
  }
  EXPECT_TRUE(Counted("apiserver_authorization_match_condition_evaluation_errors_total"));
}

TEST_F(WebhookAuthorizerTest, DownWithNoOpinionLeavesItToTheNext) {
  Use("NoOpinion");
  remote_.Stop();
  const Verdict verdict = Ask();
  EXPECT_EQ(verdict.decision, Decision::kNoOpinion);
  EXPECT_TRUE(verdict.error);
  EXPECT_TRUE(Counted(
      R"(apiserver_authorization_webhook_evaluations_fail_open_total{name="hook.example",result="error"} 1)"));
}

TEST_F(WebhookAuthorizerTest, DownWithDenyIsADenial) {
  Use("Deny");
  remote_.Stop();
  const Verdict verdict = Ask();
  EXPECT_EQ(verdict.decision, Decision::kDeny);
  EXPECT_TRUE(verdict.error);
  EXPECT_FALSE(Counted("webhook_evaluations_fail_open_total"));
}

TEST_F(WebhookAuthorizerTest, AnswersAreKeptForTheirTimes) {
  Use();
  Say(json::Object{{"allowed", true}});
  for (int i = 0; i < 3; ++i) Ask("get");
  EXPECT_EQ(remote_.requests("/"), 1);
  Say(json::Object{{"allowed", false}});
  for (int i = 0; i < 3; ++i) Ask("list");
  EXPECT_EQ(remote_.requests("/"), 2);
  clock_.Advance(std::chrono::seconds(30));
  Ask("get");
  EXPECT_EQ(remote_.requests("/"), 2) << "allowed is kept for five minutes";
  Ask("list");
  EXPECT_EQ(remote_.requests("/"), 3) << "the rest for half a minute";
}

TEST_F(WebhookAuthorizerTest, QuestionsOfAnyLengthAreNotKept) {
  Use();
  Say(json::Object{{"allowed", true}});
  Ask(std::string(20000, 'v'));
  Ask(std::string(20000, 'v'));
  EXPECT_EQ(remote_.requests("/"), 2);
}

TEST_F(WebhookAuthorizerTest, CannotListRules) {
  Use();
  const auto lists = webhook_->RulesFor(ann_, "default");
  EXPECT_TRUE(lists.incomplete);
  EXPECT_EQ(lists.evaluation_error, "webhook authorizer does not support user rule resolution");
}

// The chain: what an error means depends on what the others say.
TEST_F(WebhookAuthorizerTest, OnlyAnAllowMakesUpForAnError) {
  Use("NoOpinion");
  remote_.Stop();
  const std::shared_ptr<const Authorizer> hook(std::move(webhook_));
  const auto ask = [&](std::shared_ptr<const Authorizer> next) {
    webhook_ =
        NewAuthorizerChain({{"Webhook", "hook.example", hook}, {"Next", "next", std::move(next)}}, metrics_);
    return Ask();
  };
  EXPECT_EQ(ask(NewAlwaysAllowAuthorizer()).decision, Decision::kAllow);
  EXPECT_TRUE(
      Counted(R"(apiserver_authorization_decisions_total{decision="allowed",name="next",type="Next"} 1)"));
  const Verdict nobody = ask(NewAlwaysDenyAuthorizer());
  EXPECT_EQ(nobody.decision, Decision::kNoOpinion);
  EXPECT_TRUE(nobody.error);
  EXPECT_EQ(nobody.reason, "next: Everything is forbidden.");
}

}  // namespace
}  // namespace flyball::server
