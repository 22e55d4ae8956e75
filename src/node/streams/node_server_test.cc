// Who may ask a node's own server for anything.
#include "node/streams/node_server.h"

#include <gtest/gtest.h>

#include "base/run/executor.h"
#include "net/client/http_client.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

class NodeServerTest : public testing::Test {
 protected:
  NodeServerTest() {
    auto started = NodeServer::Start({.tls = {.client_ca_pem = authority_.certificate_pem}});
    EXPECT_TRUE(started);
    server_ = std::move(*started);
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
  ThreadPool timers_{"test-timers", 1};
  std::unique_ptr<NodeServer> server_;
};

TEST_F(NodeServerTest, TheApiServerAndAdministratorsEnter) {
  const auto api = Certificate(authority_, kApiServerClientName, {});
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
  const auto serving = Certificate(authority_, kApiServerClientName, {}, false);
  const auto stranger = Certificate(other_authority_, kApiServerClientName, {"system:masters"});
  for (const std::string path :
       {"/containerLogs/default/p/c", "/exec/default/p/c?command=id&output=1", "/attach/default/p/c?output=1",
        "/portForward/default/p", "/pods", "/metrics", "/"}) {
    EXPECT_EQ(Ask(nullptr, path), 401) << path;
    EXPECT_EQ(Ask(&stranger, path), 401) << path;
    EXPECT_EQ(Ask(&serving, path), 401) << path;
    EXPECT_EQ(Ask(&user, path), 403) << path;
    EXPECT_EQ(Ask(&node, path), 403) << path;
    EXPECT_EQ(Ask(&nameless, path), 403) << path;
    EXPECT_EQ(Ask(nullptr, path, "POST"), 401) << path;
  }
}

TEST_F(NodeServerTest, EverybodyMayAskForItsHealth) {
  EXPECT_EQ(Ask(nullptr, "/healthz"), 200);
  EXPECT_EQ(Ask(nullptr, "/healthz/x"), 401);
}

TEST_F(NodeServerTest, AnExpiredCertificateIsNone) {
  const auto expired = *net::IssueCertificate(
      authority_, {.common_name = kApiServerClientName, .client = true}, now_ - 2 * kDay, kDay);
  EXPECT_EQ(Ask(&expired, "/containerLogs/default/p/c"), 401);
}

TEST(NodeServerOptionsTest, ThereIsNoServerWithoutAnAuthority) {
  EXPECT_FALSE(NodeServer::Start({}));
}

}  // namespace
}  // namespace flyball::node
