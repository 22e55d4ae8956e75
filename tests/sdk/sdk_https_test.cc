// What only happens on a real wire: shared connections, and certificates that change under way.
#include <flyball/sdk.h>
#include <gtest/gtest.h>

#include "base/run/mutex.h"
#include "server_fixture.h"

namespace flyball {
namespace {

using tests::RealServer;
using tests::Wire;

TEST(SdkHttpsTest, ManyWatchesAndRequestsShareOneConnection) {
  RealServer server(Wire::kHttps);
  ASSERT_TRUE(server.ok());
  const Client client = server.client();
  ConfigMap object{.data = {{"k", "v"}}};
  object.metadata.name = "shared";
  object.metadata.namespace_ = "default";
  ASSERT_TRUE(client.Create(object));
  std::vector<std::unique_ptr<WatchReader>> watches;
  for (int i = 0; i < 50; ++i) watches.push_back(client.Watch<ConfigMap>("default"));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client.Get<ConfigMap>("default", "shared"));
  for (const auto& watch : watches) {
    const auto event = watch->Next();
    ASSERT_TRUE(event) << watch->status().error().ToString();
    EXPECT_EQ(event->type, WatchEventType::kAdded);
  }
  EXPECT_EQ(server.http().open_connections(), 1u);
}

// Hands out what the test says next.
class Handed final : public TlsSource {
 public:
  void Set(net::ClientTls tls) {
    MutexLock lock(mu_);
    next_ = std::move(tls);
  }
  Result<std::optional<net::ClientTls>> Changed() override {
    MutexLock lock(mu_);
    return std::exchange(next_, std::nullopt);
  }

 private:
  Mutex mu_;
  std::optional<net::ClientTls> next_ FLYBALL_GUARDED_BY(mu_);
};

std::string WhoAmI(const Client& client) {
  RestRequest request;
  request.verb = "POST";
  request.path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  request.body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";
  const auto answer = client.rest().DoJson(std::move(request));
  if (!answer) return answer.error().ToString();
  return std::string((*answer)["status"]["userInfo"]["username"].string_or("?"));
}

TEST(SdkHttpsTest, NewCertificatesAreUsedFromTheNextRequestOn) {
  RealServer server(Wire::kHttps);
  ASSERT_TRUE(server.ok());
  auto config = ParseKubeconfig(server.kubeconfig(), "");
  ASSERT_TRUE(config);
  auto source = std::make_shared<Handed>();
  config->tls_source = source;
  const Client client(*NewRestClient(*config, server.MakeRuntime()));
  EXPECT_EQ(WhoAmI(client), "kubernetes-admin");
  auto watch = client.Watch<ConfigMap>("default");

  const auto other = server.pki().IssueClient("jane", {"system:masters"}, RealClock().Now());
  ASSERT_TRUE(other);
  net::ClientTls tls = config->http.tls;
  tls.certificate_pem = other->certificate_pem;
  tls.private_key_pem = other->private_key_pem;
  source->Set(tls);
  EXPECT_EQ(WhoAmI(client), "jane");
  ConfigMap object;
  object.metadata.name = "a";
  object.metadata.namespace_ = "default";
  ASSERT_TRUE(client.Create(object));
  EXPECT_TRUE(watch->Next()) << "the watch goes on over its old connection";

  tls.certificate_pem = "garbage";
  source->Set(tls);
  EXPECT_EQ(WhoAmI(client), "jane") << "certificates that cannot be used are not";
}

}  // namespace
}  // namespace flyball
