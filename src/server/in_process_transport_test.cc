#include "server/in_process_transport.h"

#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr Duration kHour = std::chrono::hours(1);

class InProcessCertificateTest : public ServerFixture {
 protected:
  net::KeyPair Authority() { return *net::MakeCertificateAuthority("ca", sim_.clock().Now(), 1000 * kHour); }
  std::string Issue(const net::KeyPair& authority, bool client = true) {
    net::CertificateRequest request{.common_name = "system:node:n1", .organizations = {"system:nodes"}};
    request.client = client;
    request.server = !client;
    return net::IssueCertificate(authority, request, sim_.clock().Now(), kHour)->certificate_pem;
  }
  // Who the server says is asking: the status of the answer, or the name.
  std::string WhoAmI(net::Transport& transport) {
    const auto reply = Start(transport, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");
    if (reply->status != 201) return std::to_string(reply->status);
    return std::string(reply->value()["status"]["userInfo"]["username"].string_or(""));
  }
};

TEST_F(InProcessCertificateTest, ACertificateIsCheckedAtEveryRequest) {
  const net::KeyPair authority = Authority();
  std::string current = Issue(authority);
  const auto transport = server_->InProcess([&] { return current; }, authority.certificate_pem);
  EXPECT_EQ(WhoAmI(*transport), "system:node:n1");
  sim_.RunFor(2 * kHour);
  EXPECT_EQ(WhoAmI(*transport), "401") << "it has expired";
  current = Issue(authority);
  EXPECT_EQ(WhoAmI(*transport), "system:node:n1");
  current = Issue(Authority());
  EXPECT_EQ(WhoAmI(*transport), "401") << "another authority's";
  current = Issue(authority, false);
  EXPECT_EQ(WhoAmI(*transport), "401") << "not for clients";
  current = "junk";
  EXPECT_NE(WhoAmI(*transport), "system:node:n1");
}

TEST_F(InProcessCertificateTest, WithoutOneTheCallerIsAnonymous) {
  const auto transport = server_->InProcess([] { return std::string(); }, Authority().certificate_pem);
  EXPECT_EQ(WhoAmI(*transport), "403");
}

}  // namespace
}  // namespace flyball::server
