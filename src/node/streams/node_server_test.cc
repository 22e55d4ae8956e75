// Who may ask a node's own server for anything, as a real API server decides.
#include "node/streams/node_server.h"

#include <gtest/gtest.h>

#include "base/run/executor.h"
#include "json/json.h"
#include "net/client/http_client.h"
#include "net/tls/pki.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::node {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
constexpr char kApiServerUser[] = "kube-apiserver-kubelet-client";
constexpr char kApiServerBinding[] =
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
  "metadata":{"name":"apiserver-to-nodes"},
  "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:kubelet-api-admin"},
  "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"kube-apiserver-kubelet-client"}]})";

class NodeServerTest : public testing::Test {
 protected:
  NodeServerTest() {
    EXPECT_TRUE(api_->Ensure({*json::Parse(kApiServerBinding)}));
    const Runtime runtime{executor_, Random::System(), metrics_};
    const Client node(std::make_shared<RestClient>(
        api_->InProcess({.name = "system:node:n1", .groups = {"system:nodes", "system:authenticated"}}),
        runtime));
    auto started = NodeServer::Start(
        {.tls = {.client_ca_pem = authority_.certificate_pem}, .auth = NewDelegatedAuth(node)});
    EXPECT_TRUE(started);
    server_ = std::move(*started);
  }
  ~NodeServerTest() override {
    server_.reset();
    api_->Stop();
    executor_.Stop();
  }
  net::KeyPair Certificate(const net::KeyPair& authority, const std::string& name,
                           const std::vector<std::string>& groups, bool client = true) const {
    return *net::IssueCertificate(
        authority, {.common_name = name, .organizations = groups, .server = !client, .client = client}, now_,
        kDay);
  }
  // The status of a request with a certificate of the cluster's authority.
  int Ask(const net::KeyPair* shown, const std::string& path, const std::string& method = "GET") {
    net::ClientOptions options;
    options.url = "https://127.0.0.1:" + std::to_string(server_->port());
    options.http2 = false;
    options.tls.insecure_skip_verify = true;
    if (shown) {
      options.tls.certificate_pem = shown->certificate_pem;
      options.tls.private_key_pem = shown->private_key_pem;
    }
    const auto client = std::move(*net::NewHttpClient(options));
    net::Request request;
    request.method = method;
    request.target = path;
    const auto response = net::RoundTrip(*client, std::move(request), timers_, std::chrono::seconds(60));
    return response ? response->status : -1;
  }

  const TimePoint now_ = RealClock().Now();
  const net::KeyPair authority_ = *net::MakeCertificateAuthority("ca", now_, kDay);
  const net::KeyPair other_authority_ = *net::MakeCertificateAuthority("other", now_, kDay);
  ThreadPool timers_{"test-timers", 1}, executor_{"test-server", 2};
  Metrics metrics_;
  const std::unique_ptr<store::Store> store_ = store::NewMemoryStore(executor_);
  const std::unique_ptr<server::ApiServer> api_ =
      std::move(*server::ApiServer::Make({}, *store_, executor_, Random::System(), metrics_));
  std::unique_ptr<NodeServer> server_;
};

TEST_F(NodeServerTest, TheApiServerAndAdministratorsEnter) {
  const auto api = Certificate(authority_, kApiServerUser, {});
  const auto admin = Certificate(authority_, "admin", {"system:masters"});
  for (const auto* shown : {&api, &admin}) {
    EXPECT_EQ(Ask(shown, "/containerLogs/default/none/c"), 404);
    EXPECT_EQ(Ask(shown, "/nothing"), 404);
  }
}

TEST_F(NodeServerTest, NobodyElseDoes) {
  const auto user = Certificate(authority_, "eve", {"dev"});
  const auto node = Certificate(authority_, "system:node:n1", {"system:nodes"});
  const auto nameless = Certificate(authority_, "", {"system:masters"});
  const auto serving = Certificate(authority_, kApiServerUser, {}, false);
  const auto stranger = Certificate(other_authority_, kApiServerUser, {"system:masters"});
  for (const std::string path :
       {"/containerLogs/default/p/c", "/exec/default/p/c?command=id&output=1", "/attach/default/p/c?output=1",
        "/portForward/default/p", "/pods", "/metrics", "/"}) {
    EXPECT_EQ(Ask(nullptr, path), 401) << path;
    EXPECT_EQ(Ask(&stranger, path), 401) << path;
    EXPECT_EQ(Ask(&serving, path), 401) << path;
    EXPECT_EQ(Ask(&user, path), 403) << path;
    EXPECT_EQ(Ask(&node, path), 403) << path;
    EXPECT_EQ(Ask(&nameless, path), 401) << path;
    EXPECT_EQ(Ask(nullptr, path, "POST"), 401) << path;
  }
}

TEST_F(NodeServerTest, ItsHealthIsForThoseWhoMayAskToo) {
  EXPECT_EQ(Ask(nullptr, "/healthz"), 401);
  const auto user = Certificate(authority_, "eve", {"dev"});
  EXPECT_EQ(Ask(&user, "/healthz"), 403);
  const auto api = Certificate(authority_, kApiServerUser, {});
  EXPECT_EQ(Ask(&api, "/healthz"), 200);
}

TEST_F(NodeServerTest, ANewCertificateIsShownToNewConnections) {
  const auto api = Certificate(authority_, kApiServerUser, {});
  const auto ask_verified = [&] {
    net::ClientOptions options;
    options.url = "https://127.0.0.1:" + std::to_string(server_->port());
    options.tls = {authority_.certificate_pem, api.certificate_pem, api.private_key_pem};
    const auto client = std::move(*net::NewHttpClient(options));
    net::Request request;
    request.method = "GET";
    request.target = "/healthz";
    const auto response = net::RoundTrip(*client, std::move(request), timers_, std::chrono::seconds(60));
    return response ? response->status : -1;
  };
  EXPECT_EQ(ask_verified(), -1) << "its own certificate is nobody's";
  const auto issued = net::IssueCertificate(
      authority_, {.common_name = "system:node:n1", .ip_addresses = {"127.0.0.1"}, .server = true}, now_,
      kDay);
  ASSERT_TRUE(server_->SetCertificate(*issued));
  EXPECT_EQ(ask_verified(), 200);
  EXPECT_FALSE(server_->SetCertificate({"junk", "junk"}));
  EXPECT_EQ(ask_verified(), 200);
}

TEST_F(NodeServerTest, AnExpiredCertificateIsNone) {
  const auto expired = *net::IssueCertificate(authority_, {.common_name = kApiServerUser, .client = true},
                                              now_ - 2 * kDay, kDay);
  EXPECT_EQ(Ask(&expired, "/containerLogs/default/p/c"), 401);
}

TEST(NodeServerOptionsTest, ThereIsNoServerWithoutAnAuthority) {
  EXPECT_FALSE(NodeServer::Start({}));
  const auto authority = net::MakeCertificateAuthority("ca", RealClock().Now(), kDay);
  EXPECT_FALSE(NodeServer::Start({.tls = {.client_ca_pem = authority->certificate_pem}}))
      << "without anybody to decide";
}

}  // namespace
}  // namespace flyball::node
