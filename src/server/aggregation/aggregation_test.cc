// The API server with another API server behind it: real sockets, TLS and the front-proxy certificate.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/run/notification.h"
#include "json/json.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"
#include "server/aggregation/user_headers.h"
#include "server/testing/http_fixture.h"

namespace flyball::server {
namespace {

constexpr Duration kLife = std::chrono::hours(24);
const std::string kThings = "/apis/ext.example.com/v1/namespaces/default/things";
const std::string kRegistrations = "/apis/apiregistration.k8s.io/v1/apiservices";
const std::string kExtensionServices = "/api/v1/namespaces/default/services";
const char* const kDiscoveryType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const char* const kDiscoveryText = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",
  "items":[{"metadata":{"name":"ext.example.com"},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced",
     "singularResource":"thing","verbs":["get","list"],"unknown":1}]}]}]})";

using StreamPtr = std::shared_ptr<net::ResponseStream>;

// The server behind: answers what every API server must, and the rest as a test says.
class ExtensionServer {
 public:
  using Handle = std::function<void(const net::Request&, const StreamPtr&)>;

  explicit ExtensionServer(const std::string& front_proxy_ca) {
    const TimePoint now = RealClock().Now();
    authority_ = *net::MakeCertificateAuthority("ext-ca", now, kLife);
    const auto pair = *net::IssueCertificate(
        authority_, {.common_name = "ext", .dns_names = {"ext.default.svc"}, .server = true}, now, kLife);
    const net::ServerTls tls{pair.certificate_pem, pair.private_key_pem, front_proxy_ca};
    net::ServerOptions options;
    options.tls = &tls;
    server_ = std::move(*net::HttpServer::Start(
        options, [state = state_](std::shared_ptr<net::Request> request, StreamPtr stream) -> Task<void> {
          Answer(*state, *request, stream);
          co_return;
        }));
  }

  int port() const { return server_->port(); }
  const std::string& ca() const { return authority_.certificate_pem; }
  void Stop() { server_ = nullptr; }
  // For paths other than those of discovery and OpenAPI.
  void SetHandle(Handle handle) {
    MutexLock lock(state_->mu);
    state_->handle = std::move(handle);
  }
  void SetPage(const std::string& path, int status, const std::string& type, const std::string& text) {
    MutexLock lock(state_->mu);
    state_->pages[path] = {status, type, text};
  }
  // The requests for things so far.
  std::vector<net::Request> seen() const {
    MutexLock lock(state_->mu);
    return state_->seen;
  }

 private:
  struct Page {
    int status = 404;
    std::string type, text;
  };
  struct State {
    mutable Mutex mu;
    Handle handle FLYBALL_GUARDED_BY(mu);
    std::map<std::string, Page> pages FLYBALL_GUARDED_BY(mu) = {
        {"/apis", {200, kDiscoveryType, kDiscoveryText}},
        {"/apis/ext.example.com/v1",
         {200, "application/json", R"({"kind":"APIResourceList","resources":[]})"}}};
    std::vector<net::Request> seen FLYBALL_GUARDED_BY(mu);
  };

  static void Answer(State& state, const net::Request& request, const StreamPtr& stream) {
    Handle handle;
    {
      MutexLock lock(state.mu);
      const auto page = state.pages.find(request.target);
      if (page != state.pages.end())
        return stream->Send(page->second.status, {{"content-type", page->second.type}}, page->second.text);
      if (!request.target.starts_with(kThings)) return stream->Send(404, {}, "");
      state.seen.push_back(request);
      handle = state.handle;
    }
    if (handle) return handle(request, stream);
    stream->Send(200, {{"content-type", "application/json"}}, R"({"kind":"Thing"})");
  }

  net::KeyPair authority_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<net::HttpServer> server_;
};

// What arrives of a streamed response.
struct Pieces : net::ResponseSink {
  void OnHead(int, const net::Headers&) override {}
  void OnData(std::string_view data) override {
    MutexLock lock(mu);
    text += data;
    changed.NotifyAll();
  }
  void OnEnd() override { ended.Set("end"); }
  void OnError(const Error& error) override { ended.Set(error.message()); }
  std::string WaitFor(std::size_t size) {
    MutexLock lock(mu);
    while (text.size() < size) changed.Wait(mu);
    return text;
  }
  Mutex mu;
  CondVar changed;
  std::string text FLYBALL_GUARDED_BY(mu);
  Notification<std::string> ended;
};

// With a front-proxy authority of its own, whose client certificate the server presents.
struct FrontProxy {
  const net::KeyPair ca = *net::MakeCertificateAuthority("front-proxy-ca", RealClock().Now(), kLife);

  ApiServerOptions Options(Duration request_timeout) const {
    const auto client = *net::IssueCertificate(ca, {.common_name = "front-proxy-client", .client = true},
                                               RealClock().Now(), kLife);
    ApiServerOptions options;
    options.proxy_client_certificate = client.certificate_pem;
    options.proxy_client_key = client.private_key_pem;
    options.request_timeout = request_timeout;
    return options;
  }
};

class AggregationTest : public FrontProxy, public HttpFixture {
 protected:
  explicit AggregationTest(Duration request_timeout = std::chrono::minutes(1))
      : HttpFixture(Options(request_timeout)),
        extension_(std::make_unique<ExtensionServer>(ca.certificate_pem)) {}

  json::Value Read(const std::string& target) { return *json::Parse(Do("GET", target).body); }

  // An ExternalName Service, and an APIService for it.
  void Register(const std::string& tls, int port) {
    const auto made =
        Do("POST", kExtensionServices,
           R"({"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}})");
    ASSERT_EQ(made.status, 201) << made.body;
    RegisterOnly(tls, port);
  }
  void RegisterOnly(const std::string& tls, int port) {
    const auto made = Do(
        "POST", kRegistrations,
        R"({"metadata":{"name":"v1.ext.example.com"},"spec":{"group":"ext.example.com","version":"v1",
        "groupPriorityMinimum":17790,"versionPriority":15,)" +
            tls + R"(,"service":{"namespace":"default","name":"ext","port":)" + std::to_string(port) + "}}}");
    ASSERT_EQ(made.status, 201) << made.body;
  }
  std::string Trusted() { return R"("caBundle":")" + net::Base64Encode(extension_->ca()) + '"'; }
  void RegisterAvailable() {
    Register(Trusted(), extension_->port());
    ASSERT_EQ(AwaitReason("Passed"), "all checks passed");
  }
  // What aggregated discovery says of the version.
  json::Value Aggregated() {
    auto request = Ask("GET", "/apis");
    request.headers.Set("accept", kDiscoveryType);
    const auto document = *json::Parse(Send(request).body);
    for (const auto& group : document["items"].as_array())
      if (group["metadata"]["name"].string_or("") == "ext.example.com")
        return group["versions"].as_array()[0];
    return {};
  }
  void Await(const std::string& what, const std::function<bool()>& holds) {
    const SteadyTime end = RealClock().Steady() + kPatience;
    while (!holds()) {
      ASSERT_LT(RealClock().Steady(), end) << what;
      Notification<bool> later;
      executor_.PostAfter(std::chrono::milliseconds(10), [&] { later.Set(true); });
      later.Wait();
    }
  }
  // The condition's message once it has the reason.
  std::string AwaitReason(const std::string& reason) {
    json::Value condition;
    Await(reason, [&] {
      const auto service = Read(kRegistrations + "/v1.ext.example.com");
      const auto& conditions = service["status"]["conditions"];
      if (conditions.size() != 1) return false;
      condition = conditions.as_array()[0];
      return condition["reason"].string_or("") == reason;
    });
    EXPECT_EQ(condition["status"].string_or(""), reason == "Passed" ? "True" : "False");
    return std::string(condition["message"].string_or(""));
  }

  std::unique_ptr<ExtensionServer> extension_;
};

TEST_F(AggregationTest, ARequestIsPassedOnWithItsUserAndWithoutHisCredentials) {
  RegisterAvailable();
  auto request = Ask("POST", kThings + "?dryRun=All&x=%2F", R"({"a":1})");
  request.headers.Set("x-remote-user", "somebody");
  request.headers.Add("x-remote-group", "system:masters-too");
  request.headers.Set("x-remote-extra-other", "o");
  request.headers.Set("x-custom", "kept");
  const auto response = Send(request);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"kind":"Thing"})");
  const auto seen = extension_->seen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].method + " " + seen[0].target, "POST " + kThings + "?dryRun=All&x=%2F");
  EXPECT_EQ(seen[0].body, R"({"a":1})");
  const auto& headers = seen[0].headers;
  EXPECT_EQ(headers.GetAll("x-remote-user"), (std::vector<std::string_view>{"adm@in"}));
  EXPECT_EQ(headers.GetAll("x-remote-uid"), (std::vector<std::string_view>{"u-1"}));
  EXPECT_EQ(headers.GetAll("x-remote-group"),
            (std::vector<std::string_view>{"system:masters", "other", "system:authenticated"}));
  EXPECT_EQ(headers.GetAll("x-remote-extra-some%2fkey"), (std::vector<std::string_view>{"v 1", "v2"}));
  EXPECT_FALSE(headers.Has("x-remote-extra-other"));
  EXPECT_FALSE(headers.Has("authorization"));
  EXPECT_EQ(headers.Get("x-custom"), "kept");
  EXPECT_EQ(headers.Get("audit-id").size(), 36u);
  EXPECT_EQ(headers.Get("x-forwarded-uri"), kThings);
  EXPECT_TRUE(seen[0].peer.verified);
  EXPECT_EQ(seen[0].peer.common_name, "front-proxy-client");
}

TEST_F(AggregationTest, WhoMayNotIsRefusedHere) {
  RegisterAvailable();
  const auto response = Send(Ask("GET", kThings, "", "nobody"));
  EXPECT_EQ(response.status, 403);
  EXPECT_NE(response.body.find("cannot list resource \\\"things\\\" in API group \\\"ext.example.com\\\""),
            std::string::npos)
      << response.body;
  EXPECT_TRUE(extension_->seen().empty());
}

TEST_F(AggregationTest, WhatTheOtherServerAnswersComesBackAsItIs) {
  RegisterAvailable();
  extension_->SetHandle([](const net::Request&, const StreamPtr& stream) {
    stream->Send(
        409,
        {{"content-type", "application/x"}, {"warning", "299 - \"w\""}, {"access-control-allow-origin", "*"}},
        "no");
  });
  const auto response = Do("PUT", kThings + "/a", "{}");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.body, "no");
  EXPECT_EQ(response.headers.Get("content-type"), "application/x");
  EXPECT_EQ(response.headers.Get("warning"), "299 - \"w\"");
  EXPECT_FALSE(response.headers.Has("access-control-allow-origin"));
}

TEST_F(AggregationTest, ARedirectIsNotPassedOn) {
  RegisterAvailable();
  extension_->SetHandle([](const net::Request&, const StreamPtr& stream) {
    stream->Send(302, {{"location", "https://elsewhere"}}, "");
  });
  const auto response = Do("GET", kThings);
  EXPECT_EQ(response.status, 502);
  EXPECT_EQ(response.body, "the backend attempted to redirect this request, which is not permitted");
  EXPECT_FALSE(response.headers.Has("location"));
}

TEST_F(AggregationTest, AServerThatIsGoneIsUnreachableAndThenUnavailable) {
  RegisterAvailable();
  extension_->Stop();
  const auto first = Do("GET", kThings);
  EXPECT_EQ(first.status, 503);
  EXPECT_TRUE(first.body.starts_with("error trying to reach service: ") ||
              first.body == "service unavailable\n")
      << first.body;
  // Whatever changes has it looked at again.
  auto touch = Ask("PATCH", kExtensionServices + "/ext", R"({"metadata":{"labels":{"a":"b"}}})");
  touch.headers.Set("content-type", "application/merge-patch+json");
  Send(touch);
  const std::string message = AwaitReason("FailedDiscoveryCheck");
  EXPECT_TRUE(message.starts_with("failing or missing response from https://localhost:")) << message;
  const auto second = Do("GET", kThings);
  EXPECT_EQ(second.status, 503);
  EXPECT_EQ(second.body, "service unavailable\n");
  EXPECT_EQ(second.headers.Get("content-type"), "text/plain; charset=utf-8");
  Await("stale", [&] { return Aggregated()["freshness"].string_or("") == "Stale"; });
  EXPECT_TRUE(Aggregated()["resources"].is_null());
  EXPECT_NE(metrics_.Serialize().find("aggregator_unavailable_apiservice{name=\"v1.ext.example.com\"} 1"),
            std::string::npos);
  EXPECT_NE(metrics_.Serialize().find("aggregator_unavailable_apiservice_total{name=\"v1.ext.example.com\","
                                      "reason=\"FailedDiscoveryCheck\"} 1"),
            std::string::npos);
}

TEST_F(AggregationTest, TheConditionSaysWhatIsMissing) {
  RegisterOnly(R"("insecureSkipTLSVerify":true)", 443);
  EXPECT_EQ(AwaitReason("ServiceNotFound"), "service/ext in \"default\" is not present");
  EXPECT_EQ(Do("GET", kThings).body, "service unavailable\n");
  Do("POST", kExtensionServices, R"({"metadata":{"name":"ext"},"spec":{"ports":[{"name":"p","port":80}]}})");
  EXPECT_EQ(AwaitReason("ServicePortError"), "service/ext in \"default\" is not listening on port 443");
  auto patch = Ask("PATCH", kExtensionServices + "/ext", R"({"spec":{"ports":[{"name":"p","port":443}]}})");
  patch.headers.Set("content-type", "application/merge-patch+json");
  EXPECT_EQ(Send(patch).status, 200);
  EXPECT_EQ(AwaitReason("EndpointsNotFound"), "cannot find endpointslices for service/ext in \"default\"");
  const auto slice =
      Do("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
         R"({"metadata":{"name":"s","labels":{"kubernetes.io/service-name":"ext"}},"addressType":"IPv4",
             "ports":[{"name":"other","port":1}],"endpoints":[{"addresses":["10.1.1.1"]}]})");
  EXPECT_EQ(slice.status, 201) << slice.body;
  EXPECT_EQ(AwaitReason("MissingEndpoints"),
            "endpointslices for service/ext in \"default\" have no addresses with port name \"p\"");
  Do("DELETE", kExtensionServices + "/ext");
  AwaitReason("ServiceNotFound");
}

TEST_F(AggregationTest, ACertificateOfAnotherAuthorityIsNotBelieved) {
  const auto other = *net::MakeCertificateAuthority("other", RealClock().Now(), kLife);
  Register(R"("caBundle":")" + net::Base64Encode(other.certificate_pem) + '"', extension_->port());
  EXPECT_NE(AwaitReason("FailedDiscoveryCheck").find("certificate"), std::string::npos);
  EXPECT_TRUE(extension_->seen().empty());
}

TEST_F(AggregationTest, ACertificateIsNotCheckedIfTheApiServiceSaysSo) {
  Register(R"("insecureSkipTLSVerify":true)", extension_->port());
  AwaitReason("Passed");
  EXPECT_EQ(Do("GET", kThings).status, 200);
}

TEST_F(AggregationTest, ADiscoveryDocumentThatIsNotThereIsAFailure) {
  extension_->SetPage("/apis/ext.example.com/v1", 500, "text/plain", "no");
  Register(Trusted(), extension_->port());
  const std::string url =
      "https://localhost:" + std::to_string(extension_->port()) + "/apis/ext.example.com/v1";
  EXPECT_EQ(AwaitReason("FailedDiscoveryCheck"),
            "failing or missing response from " + url + ": bad status from " + url + ": 500");
  // It is tried again without anybody's doing.
  extension_->SetPage("/apis/ext.example.com/v1", 200, "application/json", "{}");
  AwaitReason("Passed");
}

TEST_F(AggregationTest, DiscoveryHasTheGroupAtItsPriority) {
  RegisterAvailable();
  Await("discovery", [&] { return Aggregated()["resources"].size() == 1; });
  EXPECT_EQ(json::Write(Aggregated()),
            R"({"version":"v1","resources":[{"resource":"things","responseKind":{"group":"","version":"",)"
            R"("kind":"Thing"},"scope":"Namespaced","singularResource":"thing","verbs":["get","list"]}],)"
            R"("freshness":"Current"})");
  const auto groups = Read("/apis")["groups"];
  std::vector<std::string> names;
  for (const auto& group : groups.as_array()) names.emplace_back(group["name"].string_or(""));
  EXPECT_EQ(std::vector(names.begin(), names.begin() + 3),
            (std::vector<std::string>{"apiregistration.k8s.io", "apps", "ext.example.com"}));
  EXPECT_EQ(Read("/apis/ext.example.com")["preferredVersion"]["groupVersion"].string_or(""),
            "ext.example.com/v1");
  EXPECT_EQ(Read("/apis/ext.example.com/v1")["kind"].string_or(""), "APIResourceList");
  EXPECT_EQ(Do("DELETE", kRegistrations + "/v1.ext.example.com").status, 200);
  Await("gone", [&] { return Aggregated().is_null(); });
  EXPECT_EQ(Do("GET", kThings).status, 404);
  EXPECT_EQ(Do("GET", "/apis/ext.example.com").status, 404);
}

TEST_F(AggregationTest, AnOlderServersResourceListIsUnderstood) {
  extension_->SetPage("/apis", 200, "application/json", R"({"kind":"APIGroupList"})");
  extension_->SetPage("/apis/ext.example.com/v1", 200, "application/json",
                      R"({"kind":"APIResourceList","resources":[
      {"name":"things/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]},
      {"name":"things","singularName":"","namespaced":true,"kind":"Thing","verbs":["list"],"shortNames":["th"]}]})");
  RegisterAvailable();
  Await("discovery", [&] { return Aggregated()["resources"].size() == 1; });
  EXPECT_EQ(
      json::Write(Aggregated()["resources"]),
      R"([{"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced",)"
      R"("singularResource":"","verbs":["list"],"shortNames":["th"],"subresources":[{"subresource":"scale",)"
      R"("responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]}]}])");
}

TEST_F(AggregationTest, OpenApiDocumentsAreMerged) {
  extension_->SetPage("/openapi/v2", 200, "application/json", R"({"swagger":"2.0",
      "paths":{"/apis/ext.example.com/v1/things":{"get":{"responses":{}}},"/apis/":{}},"definitions":{"x":{}}})");
  extension_->SetPage("/openapi/v3", 200, "application/json", R"({"paths":{
      "apis/ext.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/ext.example.com/v1?hash=H"},
      "api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=not-yours"}}})");
  extension_->SetPage("/openapi/v3/apis/ext.example.com/v1?hash=H", 200, "application/json",
                      R"({"openapi":"3"})");
  RegisterAvailable();
  Await("OpenAPI v3", [&] { return !Read("/openapi/v3")["paths"]["apis/ext.example.com/v1"].is_null(); });
  const auto index = Read("/openapi/v3");
  EXPECT_EQ(index["paths"]["apis/ext.example.com/v1"]["serverRelativeURL"].string_or(""),
            "/openapi/v3/apis/ext.example.com/v1?hash=H");
  EXPECT_EQ(index["paths"]["api/v1"]["serverRelativeURL"].string_or("").find("not-yours"), std::string::npos);
  EXPECT_EQ(Do("GET", "/openapi/v3/apis/ext.example.com/v1?hash=H").body, R"({"openapi":"3"})");
  const auto whole = Read("/openapi/v2");
  EXPECT_TRUE(whole["paths"].Find("/apis/ext.example.com/v1/things"));
  EXPECT_TRUE(whole["paths"].Find("/api/v1/namespaces/{namespace}/pods"));
  EXPECT_FALSE(whole["definitions"].Find("x"));
}

TEST_F(AggregationTest, AServerWithoutOpenApiV3GetsOne) {
  extension_->SetPage("/openapi/v2", 200, "application/json", R"({"swagger":"2.0",
      "paths":{"/apis/ext.example.com/v1/things":{"get":{"responses":{"200":{"description":"OK",
        "schema":{"$ref":"#/definitions/T"}}}}}},"definitions":{"T":{"type":"object"}}})");
  RegisterAvailable();
  Await("OpenAPI v3", [&] { return !Read("/openapi/v3")["paths"]["apis/ext.example.com/v1"].is_null(); });
  EXPECT_EQ(Read("/openapi/v3/apis/ext.example.com/v1")["components"]["schemas"]["T"]["type"].string_or(""),
            "object");
}

TEST_F(AggregationTest, AWatchIsStreamedAndItsEndReachesTheOtherServer) {
  RegisterAvailable();
  auto gone = std::make_shared<Notification<bool>>();
  StreamPtr held;
  Mutex mu;
  extension_->SetHandle([&, gone](const net::Request&, const StreamPtr& stream) {
    stream->OnClose([gone] { gone->Set(true); });
    stream->Begin(200, {{"content-type", "application/json"}});
    stream->Write(MakeBytes("one\n"));
    MutexLock lock(mu);
    held = stream;
  });
  const auto pieces = std::make_shared<Pieces>();
  const auto call = client_->Start(Ask("GET", kThings + "?watch=true"), pieces);
  EXPECT_EQ(pieces->WaitFor(4), "one\n");
  {
    MutexLock lock(mu);
    held->Write(MakeBytes("two\n"));
  }
  EXPECT_EQ(pieces->WaitFor(8), "one\ntwo\n");
  call->Cancel();
  EXPECT_TRUE(gone->Wait());
}

TEST_F(AggregationTest, AnAnswerThatBreaksOffDoesSoForTheClient) {
  RegisterAvailable();
  StreamPtr held;
  Mutex mu;
  extension_->SetHandle([&](const net::Request&, const StreamPtr& stream) {
    stream->Begin(200, {});
    stream->Write(MakeBytes("half"));
    MutexLock lock(mu);
    held = stream;
  });
  const auto pieces = std::make_shared<Pieces>();
  client_->Start(Ask("GET", kThings), pieces);
  EXPECT_EQ(pieces->WaitFor(4), "half");
  {
    MutexLock lock(mu);
    held = nullptr;
  }
  EXPECT_NE(pieces->ended.Wait(), "end");
}

TEST_F(AggregationTest, ConnectionsAreJoinedAfterAnUpgrade) {
  RegisterAvailable();
  extension_->SetHandle([](const net::Request& request, const StreamPtr& stream) {
    if (request.headers.Get("upgrade") != "test/1" || request.headers.Get("x-remote-user") != "adm@in")
      return stream->Send(400, {}, "no upgrade");
    const auto duplex = *stream->AcceptUpgrade({{"upgrade", "test/1"}, {"connection", "Upgrade"}});
    duplex->Read([duplex](std::string_view data) { duplex->Write(MakeBytes("<" + std::string(data) + ">")); },
                 [duplex] { duplex->End(); });
  });
  auto request = Ask("GET", kThings + "/a/console");
  request.headers.Set("upgrade", "test/1");
  request.headers.Set("connection", "Upgrade");
  Notification<Result<net::Upgraded>> opened;
  client_->OpenUpgrade(request, [&](Result<net::Upgraded> result) { opened.Set(std::move(result)); });
  const auto upgraded = opened.Wait();
  ASSERT_TRUE(upgraded) << upgraded.error().ToString();
  auto echoed = std::make_shared<Notification<std::string>>();
  upgraded->stream->Read([echoed](std::string_view data) { echoed->Set(std::string(data)); }, [] {});
  upgraded->stream->Write(MakeBytes("hello"));
  EXPECT_EQ(echoed->Wait(), "<hello>");
  upgraded->stream->Abort();
}

TEST_F(AggregationTest, WhatIsServedHereStaysHere) {
  RegisterAvailable();
  EXPECT_EQ(Read("/apis/apps/v1/deployments")["kind"].string_or(""), "DeploymentList");
  const auto apps = Read(kRegistrations + "/v1.apps");
  EXPECT_EQ(apps["status"]["conditions"].as_array()[0]["reason"].string_or(""), "Local");
}

TEST_F(AggregationTest, AnApiServiceThatIsNoLongerRemoteIsLocal) {
  RegisterAvailable();
  auto patch =
      Ask("PATCH", kRegistrations + "/v1.ext.example.com", R"({"spec":{"service":null,"caBundle":null}})");
  patch.headers.Set("content-type", "application/merge-patch+json");
  ASSERT_EQ(Send(patch).status, 200);
  Await("local", [&] {
    const auto service = Read(kRegistrations + "/v1.ext.example.com");
    return service["status"]["conditions"].as_array()[0]["reason"].string_or("") == "Local";
  });
  EXPECT_EQ(Do("GET", kThings).status, 404);
}

class AggregationDeadlineTest : public AggregationTest {
 protected:
  AggregationDeadlineTest() : AggregationTest(std::chrono::milliseconds(500)) {}
};

TEST_F(AggregationDeadlineTest, AServerThatDoesNotAnswerIsNotWaitedForLonger) {
  RegisterAvailable();
  auto gone = std::make_shared<Notification<bool>>();
  Mutex mu;
  StreamPtr held;
  extension_->SetHandle([&, gone](const net::Request&, const StreamPtr& stream) {
    stream->OnClose([gone] { gone->Set(true); });
    MutexLock lock(mu);
    held = stream;
  });
  const auto response = Do("GET", kThings);
  EXPECT_EQ(response.status, 504);
  EXPECT_TRUE(gone->Wait());
  MutexLock lock(mu);
  held = nullptr;
}

TEST(UserHeadersTest, ALineBreakIsNoPartOfAHeader) {
  net::Headers headers;
  for (const User& user :
       {User{"a\r\nx-remote-group: system:masters", "", {}, {}}, User{"a", "", {"g\n"}, {}},
        User{"a", std::string("u\0", 2), {}, {}}, User{"a", "", {}, {{"k", {"\r"}}}}}) {
    EXPECT_FALSE(AddUserHeaders(user, headers));
    EXPECT_EQ(headers.size(), 0u);
  }
  EXPECT_TRUE(AddUserHeaders({"a", "", {}, {{"Key:%/é", {"v"}}}}, headers));
  EXPECT_EQ(headers.Get("x-remote-extra-key%3a%25%2f%c3%a9"), "v");
  EXPECT_FALSE(headers.Has("x-remote-uid"));
}

}  // namespace
}  // namespace flyball::server
