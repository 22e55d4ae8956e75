// Calls to webhooks, by URL and by service, and everything that may go wrong with them.
#include "server/webhook/webhook_caller.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "server/forward/service_endpoints.h"
#include "server/testing/live_server.h"

namespace flyball::server {
namespace {

class WebhookCallerTest : public LiveServerTest {
 protected:
  ~WebhookCallerTest() override { remote_calls_.Stop(); }

  Result<std::string> Post(const WebhookTarget& target, WebhookCaller::Limits limits = {}) {
    return Await<Result<std::string>>(callers_, [&]() -> Task<Result<std::string>> {
      return caller_.Post(target, "{}", limits, callers_);
    });
  }
  WebhookTarget Url(const std::string& path = "/hook") const {
    return {.url = remote_.url() + path, .service = {}, .ca_pem = remote_.ca_pem()};
  }
  WebhookTarget Service(int port = 443) const {
    return {.url = "",
            .service = WebhookTarget::Service{"default", "hook", "/svc", port},
            .ca_pem = remote_.ca_pem()};
  }
  std::string Problem(const Result<std::string>& outcome) { return outcome ? "" : outcome.error().message(); }
  void Answer(int status, std::string body, net::Headers headers = {}) {
    remote_.SetAnswer([=](const net::Request&) { return net::Response{status, headers, body}; });
  }
  // A Service whose only pod is this process.
  void ServeAsPod() {
    ASSERT_EQ(
        Do("POST", "/api/v1/namespaces/default/services",
           R"({"metadata":{"name":"hook"},"spec":{"selector":{"app":"hook"},"ports":[{"port":443,"targetPort":"web"}]}})")
            .status,
        201);
    ASSERT_EQ(Do("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})").status, 201);
    ASSERT_EQ(Do("PATCH", "/api/v1/nodes/n/status",
                 R"({"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}})",
                 "application/merge-patch+json")
                  .status,
              200);
    ASSERT_EQ(
        Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})").status,
        201);
    const auto pod =
        Do("POST", "/api/v1/namespaces/default/pods",
           R"({"metadata":{"name":"p","labels":{"app":"hook"}},"spec":{"nodeName":"n","hostNetwork":true,
      "containers":[{"name":"c","image":"i","ports":[{"name":"web","hostPort":)" +
               std::to_string(remote_.port()) + R"(,"containerPort":)" + std::to_string(remote_.port()) +
               "}]}]}}");
    ASSERT_EQ(pod.status, 201) << pod.message();
    ASSERT_EQ(Do("PATCH", "/api/v1/namespaces/default/pods/p/status",
                 R"({"status":{"phase":"Running","podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}],
                   "conditions":[{"type":"Ready","status":"True"}]}})",
                 "application/merge-patch+json")
                  .status,
              200);
  }

  RemoteServer remote_{[](const net::Request&) {
                         return net::Response{200, {}, "yes"};
                       },
                       {"hook.default.svc"}};
  WatchCache cache_{*store_, executor_};
  std::unique_ptr<Catalog> catalog_ = std::move(*Catalog::Make(cache_, RuntimeConfig(37)));
  RemoteCalls remote_calls_;
  WebhookCaller caller_{*catalog_, random_, remote_calls_};
};

TEST_F(WebhookCallerTest, PostsAndKeepsTheConnection) {
  for (int i = 0; i < 5; ++i) {
    const auto answer = Post(Url(), {.timeout = std::chrono::milliseconds(2500)});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(*answer, "yes");
  }
  EXPECT_EQ(remote_.connections(), 1u);
  EXPECT_EQ(remote_.last().method, "POST");
  EXPECT_EQ(remote_.last().target, "/hook?timeout=3s");
  EXPECT_EQ(remote_.last().headers.Get("user-agent"), "kube-apiserver-admission");
  EXPECT_EQ(remote_.last().headers.Get("content-type"), "application/json");
}

TEST(WebhookTargetTest, PathsAreCleaned) {
  const auto url = [](const char* text) {
    json::Object config;
    config.Set("url", std::string(text));
    return WebhookTarget::FromClientConfig(json::Value(std::move(config))).ShownUrl();
  };
  EXPECT_EQ(url("https://h:1//failing"), "https://h:1/failing");
  EXPECT_EQ(url("https://h:1/a/./b/../c//"), "https://h:1/a/c");
  EXPECT_EQ(url("https://h:1/../.."), "https://h:1/");
  EXPECT_EQ(url("https://h:1"), "https://h:1/");
  const auto service = json::Parse(R"({"service":{"namespace":"n","name":"s","path":"a//b/"}})");
  EXPECT_EQ(WebhookTarget::FromClientConfig(*service).ShownUrl(), "https://s.n.svc:443/a/b");
}

TEST_F(WebhookCallerTest, NobodyIsGivenMoreThanHalfAMinute) {
  ASSERT_TRUE(Post(Url(), {.timeout = std::chrono::hours(1)}));
  EXPECT_EQ(remote_.last().target, "/hook?timeout=30s");
}

TEST_F(WebhookCallerTest, AServersCertificateMustBeTrusted) {
  auto target = Url();
  target.ca_pem =
      net::MakeCertificateAuthority("other", RealClock().Now(), std::chrono::hours(1))->certificate_pem;
  const auto problem = Problem(Post(target));
  EXPECT_EQ(problem.substr(0, problem.find(": tls")), "Post \"" + remote_.url() + "/hook?timeout=30s\"");
  EXPECT_NE(problem.find("tls: failed to verify certificate"), std::string::npos) << problem;
  EXPECT_EQ(remote_.requests("/"), 0);
}

TEST_F(WebhookCallerTest, AuthoritiesThatAreNoneFail) {
  auto target = Url();
  target.ca_pem = "nonsense";
  EXPECT_FALSE(Post(target));
  EXPECT_EQ(remote_.requests("/"), 0);
}

TEST_F(WebhookCallerTest, PlainTextIsRefused) {
  EXPECT_FALSE(Post({.url = "http://127.0.0.1:1/x", .service = {}, .ca_pem = ""}));
}

TEST_F(WebhookCallerTest, WhoDoesNotAnswerIsLeftAfterTheTimeout) {
  remote_.SetAnswer([](const net::Request&) { return net::Response{}; });
  const auto answer = Post(Url(), {.timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(Problem(answer), "Post \"" + remote_.url() + "/hook?timeout=1s\": context deadline exceeded");
  EXPECT_TRUE(answer.error().Is(Reason::kTimeout));
}

TEST_F(WebhookCallerTest, LargeAnswersAreNotRead) {
  Answer(200, std::string(5000, 'x'));
  EXPECT_EQ(Problem(Post(Url(), {.max_answer_bytes = 4999})),
            "Post \"" + remote_.url() + "/hook?timeout=30s\": the response is larger than 4999 bytes");
  EXPECT_TRUE(Post(Url(), {.max_answer_bytes = 5000}));
}

TEST_F(WebhookCallerTest, RedirectsAreFollowed) {
  const auto redirect = [&](int status, const std::string& location) {
    remote_.SetAnswer([=](const net::Request& request) {
      if (request.target.starts_with("/hook")) return net::Response{status, {{"location", location}}, ""};
      return net::Response{200, {}, request.method + " " + request.target + " " + request.body};
    });
  };
  redirect(302, remote_.url() + "/elsewhere?a=b");
  EXPECT_EQ(*Post(Url()), "GET /elsewhere?a=b ");
  redirect(307, "/elsewhere");
  EXPECT_EQ(*Post(Url()), "POST /elsewhere {}");
  redirect(308, "elsewhere");
  EXPECT_EQ(*Post(Url()), "POST /elsewhere {}");
}

TEST_F(WebhookCallerTest, RedirectsEnd) {
  Answer(307, "", {{"location", "/hook"}});
  EXPECT_EQ(Problem(Post(Url())), "Post \"/hook\": stopped after 10 redirects");
  EXPECT_EQ(remote_.requests("/hook"), 10);
  Answer(302, "");
  EXPECT_EQ(Problem(Post(Url())),
            "the server responded with the status code 302 but did not return more information");
  for (const std::string scheme : {"ftp", "unix", "h2c"}) {
    Answer(307, "", {{"location", scheme + "://x/y"}});
    EXPECT_EQ(Problem(Post(Url())),
              "Post \"" + scheme + "://x/y\": unsupported protocol scheme \"" + scheme + "\"");
  }
}

TEST_F(WebhookCallerTest, StatusesAreWhatClientGoSays) {
  Answer(404, "");
  EXPECT_EQ(Problem(Post(Url())), "the server could not find the requested resource");
  Answer(500, "oops", {{"content-type", "text/plain"}});
  EXPECT_EQ(Problem(Post(Url())),
            "an error on the server (\"oops\") has prevented the request from succeeding");
  Answer(500, "oops");
  EXPECT_EQ(Problem(Post(Url())),
            "an error on the server (\"unknown\") has prevented the request from succeeding");
  Answer(200, "");
  EXPECT_EQ(Problem(Post(Url())),
            "0-length response with status code: 200 and content type: application/json");
  Answer(
      403,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away","reason":"Forbidden","code":403})");
  EXPECT_EQ(Problem(Post(Url())), "go away");
}

TEST_F(WebhookCallerTest, NobodyThere) {
  remote_.Stop();
  const std::string port = std::to_string(remote_.port());
  EXPECT_EQ(Problem(Post(Url())), "Post \"https://127.0.0.1:" + port +
                                      "/hook?timeout=30s\": dial tcp 127.0.0.1:" + port +
                                      ": connect: connection refused");
}

TEST_F(WebhookCallerTest, AServiceIsReachedAtItsEndpointsByItsName) {
  ServeAsPod();
  const auto answer = Post(Service());
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(remote_.last().target, "/svc?timeout=30s");
  EXPECT_EQ(remote_.last().headers.Get("host"), "hook.default.svc:443");
}

TEST_F(WebhookCallerTest, ACertificateOfAnotherServiceIsRefused) {
  ServeAsPod();
  ASSERT_EQ(
      Do("POST", "/api/v1/namespaces/default/services",
         R"({"metadata":{"name":"other"},"spec":{"selector":{"app":"hook"},"ports":[{"port":443,"targetPort":"web"}]}})")
          .status,
      201);
  auto target = Service();
  target.service->name = "other";
  EXPECT_NE(Problem(Post(target)).find("tls: failed to verify certificate"), std::string::npos);
}

TEST_F(WebhookCallerTest, ServicesWithoutEndpoints) {
  EXPECT_EQ(Problem(Post(Service())),
            "Post \"https://hook.default.svc:443/svc?timeout=30s\": service \"hook\" not found");
  ASSERT_EQ(Do("POST", "/api/v1/namespaces/default/services",
               R"({"metadata":{"name":"hook"},"spec":{"ports":[{"port":443}]}})")
                .status,
            201);
  EXPECT_EQ(Problem(Post(Service(8443))),
            "Post \"https://hook.default.svc:8443/svc?timeout=30s\": no service port 8443 "
            "found for service \"hook\"");
  EXPECT_EQ(
      Problem(Post(Service())),
      "Post \"https://hook.default.svc:443/svc?timeout=30s\": no endpoints available for service \"hook\"");
}

TEST_F(WebhookCallerTest, EndpointSlicesSayWhereAndWhetherReady) {
  ASSERT_EQ(Do("POST", "/api/v1/namespaces/default/services",
               R"({"metadata":{"name":"hook"},"spec":{"ports":[{"name":"web","port":443}]}})")
                .status,
            201);
  const auto slice = [&](const std::string& name, const std::string& address, const std::string& port,
                         const std::string& ready) {
    const auto made = Do(
        "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        R"({"metadata":{"name":")" + name +
            R"(","labels":{"kubernetes.io/service-name":"hook"}},"addressType":"IPv4","ports":[{"name":")" +
            port + R"(","port":9443}],"endpoints":[{"addresses":[")" + address +
            R"("],"conditions":{"ready":)" + ready + "}}]}");
    ASSERT_EQ(made.status, 201) << made.message();
  };
  slice("unready", "10.1.1.1", "web", "false");
  slice("other", "10.1.1.2", "other", "true");
  EXPECT_FALSE(ResolveService(*catalog_, random_, "default", "hook", 443));
  slice("ready", "10.1.1.3", "web", "true");
  EXPECT_EQ(ResolveService(*catalog_, random_, "default", "hook", 443)->Url(), "https://10.1.1.3:9443");
}

TEST_F(WebhookCallerTest, ExternalNamesAreReachedByName) {
  ASSERT_EQ(
      Do("POST", "/api/v1/namespaces/default/services",
         R"({"metadata":{"name":"hook"},"spec":{"type":"ExternalName","externalName":"hook.example.org"}})")
          .status,
      201);
  EXPECT_EQ(ResolveService(*catalog_, random_, "default", "hook", 8443)->Url(),
            "https://hook.example.org:8443");
}

TEST_F(WebhookCallerTest, AfterStopNothingIsCalled) {
  remote_calls_.Stop();
  EXPECT_EQ(Problem(Post(Url())), "Post \"" + remote_.url() + "/hook?timeout=30s\": context canceled");
}

}  // namespace
}  // namespace flyball::server
