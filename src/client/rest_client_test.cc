#include "client/rest_client.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/run/sim_executor.h"
#include "client/client.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

class RestClientTest : public ::testing::Test {
 protected:
  RestClientTest()
      : executor_(7),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false} {}

  std::shared_ptr<RestClient> Make(RestOptions options = {}) {
    return std::make_shared<RestClient>(server_, runtime_, std::move(options));
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
};

TEST_F(RestClientTest, EncodesPathAndQueryAndHeaders) {
  auto client = Make({.user_agent = "me/1", .path_prefix = "/prefix", .impersonate_user = "jane"});
  RestRequest request;
  request.path = "/api/v1/pods";
  request.Query("labelSelector", "a in (b,c)").Query("empty", "");
  (void)client->Do(request);
  const net::Request sent = server_->log().at(0);
  EXPECT_EQ(sent.target, "/prefix/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29");
  EXPECT_EQ(sent.headers.Get("user-agent"), "me/1");
  EXPECT_EQ(sent.headers.Get("impersonate-user"), "jane");
  EXPECT_FALSE(sent.headers.Has("content-type"));
}

TEST_F(RestClientTest, ImpersonatesWithUidAndExtra) {
  auto client = Make({.impersonate_user = "jane",
                      .impersonate_uid = "u-1",
                      .impersonate_extra = {{"example.com/Scope", "x"}, {"example.com/Scope", "y"}}});
  (void)client->Do({.path = "/api/v1/pods"});
  const net::Request sent = server_->log().at(0);
  EXPECT_EQ(sent.headers.Get("impersonate-uid"), "u-1");
  const auto extra = sent.headers.GetAll("impersonate-extra-example.com%2Fscope");
  EXPECT_EQ(std::vector<std::string>(extra.begin(), extra.end()), (std::vector<std::string>{"x", "y"}));
}

TEST_F(RestClientTest, AStatusBecomesAnErrorWithItsDetails) {
  server_->AnswerNext("GET", "pods", 422, R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":422,
    "message":"Pod \"x\" is invalid","reason":"Invalid","details":{"name":"x","kind":"Pod","causes":[
    {"reason":"FieldValueRequired","message":"Required value","field":"spec.containers"}]}})");
  auto answer = Make()->Do({.path = "/api/v1/pods"});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().Is(Reason::kInvalid));
  EXPECT_EQ(answer.error().details().name, "x");
  ASSERT_EQ(answer.error().details().causes.size(), 1u);
  EXPECT_EQ(answer.error().details().causes[0].field, "spec.containers");
}

TEST_F(RestClientTest, AnAnswerThatIsNoStatusIsSaidInWords) {
  server_->AnswerNext("GET", "pods", 503, "<html>", {{"retry-after", "7"}});
  auto answer = Make()->Do({.path = "/api/v1/pods"});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().Is(Reason::kServiceUnavailable));
  EXPECT_EQ(answer.error().details().retry_after_seconds, 7);
  EXPECT_EQ(answer.error().message(), "the server is currently unable to handle the request");
}

TEST_F(RestClientTest, AsksAgainAfterTheTimeTheServerSays) {
  server_->AnswerNext("GET", "pods", 429, "", {{"retry-after", "3"}});
  server_->AnswerNext("GET", "pods", 503, "", {{"retry-after", "2"}});
  std::optional<Result<RestResponse>> answer;
  Make()->Start({.path = "/api/v1/pods"}, [&](Result<RestResponse> r) { answer = std::move(r); });
  executor_.RunFor(4900ms);
  EXPECT_FALSE(answer);
  executor_.RunFor(200ms);
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_EQ(server_->requests(), 3u);
}

TEST_F(RestClientTest, BacksOffWhenTheServerDoesNotSayHowLong) {
  for (int i = 0; i < 3; ++i) server_->AnswerNext("GET", "pods", 429, "");
  std::optional<Result<RestResponse>> answer;
  auto client = Make();
  client->Start({.path = "/api/v1/pods"}, [&](Result<RestResponse> r) { answer = std::move(r); });
  executor_.RunFor(6900ms);  // 1 s, 2 s, 4 s
  EXPECT_EQ(client->requests(), 3u);
  executor_.RunFor(200ms);
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_NE(metrics_.Serialize().find("rest_client_requests_total{code=\"429\",method=\"GET\"} 3"),
            std::string::npos);
}

TEST_F(RestClientTest, PagesAreReadAsTheyAreNeeded) {
  for (int i = 0; i < 5; ++i)
    server_->Put("/api/v1/configmaps",
                 json::Object{{"metadata",
                               json::Object{{"name", "c" + std::to_string(i)}, {"namespace", "default"}}}});
  const Client client(Make());
  auto pages = client.Pages<ConfigMap>("default", {.limit = 2});
  EXPECT_EQ(server_->requests(), 0u);
  std::string names;
  while (auto object = pages.Next()) names += object->metadata.name;
  EXPECT_EQ(names, "c0c1c2c3c4");
  EXPECT_TRUE(pages.status());
  EXPECT_EQ(server_->requests(), 3u);
  EXPECT_FALSE(pages.Next());

  auto broken = client.Pages<ConfigMap>("default", {.limit = 4});
  ASSERT_TRUE(broken.Next());
  server_->AnswerNext("GET", "continue=", 410, R"({"kind":"Status","reason":"Expired","code":410})");
  int more = 0;
  while (broken.Next()) ++more;
  EXPECT_EQ(more, 3);
  EXPECT_TRUE(broken.status().error().Is(Reason::kExpired));
}

TEST_F(RestClientTest, A500WithoutRetryAfterIsNotRetried) {
  server_->AnswerNext("GET", "pods", 500, "");
  EXPECT_FALSE(Make()->Do({.path = "/api/v1/pods"}));
  EXPECT_EQ(server_->requests(), 1u);
}

TEST_F(RestClientTest, GivesUpAfterMaxRetries) {
  for (int i = 0; i < 5; ++i) server_->AnswerNext("GET", "pods", 429, "", {{"retry-after", "1"}});
  std::optional<Result<RestResponse>> answer;
  Make({.max_retries = 2})->Start({.path = "/api/v1/pods"}, [&](Result<RestResponse> r) {
    answer = std::move(r);
  });
  executor_.RunFor(1min);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->error().Is(Reason::kTooManyRequests));
  EXPECT_EQ(server_->requests(), 3u);
}

TEST_F(RestClientTest, CancellingWhileWaitingToRetryEndsTheCall) {
  server_->AnswerNext("GET", "pods", 429, "", {{"retry-after", "100"}});
  std::stop_source stop;
  std::optional<Result<RestResponse>> answer;
  Make()->Start({.path = "/api/v1/pods", .cancelled = stop.get_token()},
                [&](Result<RestResponse> r) { answer = std::move(r); });
  EXPECT_FALSE(answer);
  stop.request_stop();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->error().Is(Reason::kCancelled));
  executor_.RunFor(5min);
  EXPECT_EQ(server_->requests(), 1u);
}

// A transport that never answers.
class Silent final : public net::Transport {
 public:
  class SilentCall final : public net::Call {
   public:
    explicit SilentCall(std::shared_ptr<net::ResponseSink> s) : sink(std::move(s)) {}
    void Cancel() override {
      if (auto s = std::exchange(sink, nullptr)) s->OnError(Error(Reason::kCancelled, "cancelled"));
    }
    void Pause() override {}
    void Resume() override {}
    std::shared_ptr<net::ResponseSink> sink;
  };
  std::shared_ptr<net::Call> Start(net::Request, std::shared_ptr<net::ResponseSink> sink) override {
    return std::make_shared<SilentCall>(std::move(sink));
  }
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)>) override {}
};

TEST_F(RestClientTest, TimesOut) {
  RestClient client(std::make_shared<Silent>(), runtime_, {.timeout = 5s});
  std::optional<Result<RestResponse>> answer;
  client.Start({.path = "/"}, [&](Result<RestResponse> r) { answer = std::move(r); });
  executor_.RunFor(4s);
  EXPECT_FALSE(answer);
  executor_.RunFor(2s);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->error().Is(Reason::kTimeout));
}

TEST_F(RestClientTest, ASynchronousCallThatWouldBlockASimulationFails) {
  RestClient client(std::make_shared<Silent>(), runtime_);
  EXPECT_TRUE(client.Do({.path = "/"}).error().Is(Reason::kTimeout));
}

TEST_F(RestClientTest, TheClientSideLimitSpreadsRequests) {
  auto client = Make({.qps = 10, .burst = 2});
  int answered = 0;
  for (int i = 0; i < 7; ++i)
    client->Start({.path = "/api/v1/pods"}, [&](const Result<RestResponse>&) { ++answered; });
  EXPECT_EQ(answered, 2);
  executor_.RunFor(310ms);
  EXPECT_EQ(answered, 5);
  executor_.RunFor(1s);
  EXPECT_EQ(answered, 7);
}

TEST_F(RestClientTest, DynamicVerbs) {
  DynamicClient maps(Make(), {"", "v1", "ConfigMap", "configmaps", true});
  const json::Value object(json::Object{{"metadata", json::Object{{"name", "a"}, {"namespace", "default"}}}});
  auto made = maps.Create(object, {.field_manager = "me"});
  ASSERT_TRUE(made);
  EXPECT_EQ((*std::as_const(made))["kind"].string_or(""), "ConfigMap");
  EXPECT_TRUE(maps.Create(object).error().Is(Reason::kAlreadyExists));

  auto patched =
      maps.Patch("default", "a", PatchType::kMerge, json::Object{{"data", json::Object{{"k", "v"}}}});
  ASSERT_TRUE(patched);
  auto stale = *made;
  EXPECT_TRUE(maps.Update(stale).error().Is(Reason::kConflict));
  auto got = maps.Get("default", "a");
  ASSERT_TRUE(got);
  EXPECT_EQ((*std::as_const(got))["data"]["k"].string_or(""), "v");

  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(maps.Create(
        json::Object{{"metadata", json::Object{{"generateName", "g-"}, {"namespace", "default"}}}}));
  auto page = maps.List("default", {.limit = 4});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 4u);
  auto rest = maps.List("default", {.limit = 4, .continue_token = page->metadata.continue_token});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->items.size(), 2u);

  EXPECT_TRUE(maps.Delete("default", "a", {.uid = "another"}).error().Is(Reason::kConflict));
  EXPECT_TRUE(maps.Delete("default", "a"));
  EXPECT_TRUE(maps.Get("default", "a").error().Is(Reason::kNotFound));
  EXPECT_TRUE(maps.Get("default", "").error().Is(Reason::kBadRequest)) << "would have been a list";
  EXPECT_EQ(server_->requests("POST", "fieldManager=me"), 1u);
}

}  // namespace
}  // namespace flyball
