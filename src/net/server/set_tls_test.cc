#include <gtest/gtest.h>

#include "net/testing/loopback_fixture.h"

namespace flyball::net {
namespace {

class SetTlsTest : public testing::TestWithParam<Wire> {
 protected:
  static Task<void> Hello(std::shared_ptr<Request>, Answer answer) {
    answer->Send(200, {}, "hello");
    co_return;
  }

  // A certificate for this machine by an authority that nobody has heard of.
  static ServerTls Fresh(std::string& authority_pem) {
    const TimePoint now = RealClock().Now();
    constexpr Duration kDay = std::chrono::hours(24);
    const KeyPair authority = *MakeCertificateAuthority("fresh-ca", now, kDay);
    const KeyPair pair = *IssueCertificate(
        authority, {.common_name = "fresh", .ip_addresses = {"127.0.0.1"}, .server = true}, now, kDay);
    authority_pem = authority.certificate_pem;
    return {pair.certificate_pem, pair.private_key_pem, authority.certificate_pem};
  }
};

TEST_P(SetTlsTest, NewConnectionsSeeTheNewCertificateAndOldOnesGoOn) {
  Loopback loopback(GetParam(), {{"/hello", Hello}});
  ASSERT_TRUE(loopback.Get("/hello"));
  std::string authority_pem;
  ASSERT_TRUE(loopback.server().SetTls(Fresh(authority_pem)));
  EXPECT_TRUE(loopback.Get("/hello")) << "on the connection that is open";

  auto options = loopback.Options();
  const auto old_trust = *NewHttpClient(options);
  EXPECT_FALSE(loopback.Send(*old_trust, {.target = "/hello"}));
  options.tls.ca_pem = authority_pem;
  const auto new_trust = *NewHttpClient(options);
  EXPECT_TRUE(loopback.Send(*new_trust, {.target = "/hello"}));
}

TEST_P(SetTlsTest, WhatIsNoGoodChangesNothing) {
  Loopback loopback(GetParam(), {{"/hello", Hello}});
  std::string authority_pem;
  ServerTls mixed = Fresh(authority_pem);
  mixed.private_key_pem = TestCertificates::Get().server.private_key_pem;
  EXPECT_FALSE(loopback.server().SetTls(mixed)) << "the key of another certificate";
  EXPECT_FALSE(loopback.server().SetTls({"junk", "junk", ""}));
  EXPECT_TRUE(loopback.Get("/hello"));
}

INSTANTIATE_TEST_SUITE_P(Wires, SetTlsTest, testing::Values(Wire::kH1Tls, Wire::kH2Tls), WireName);

}  // namespace
}  // namespace flyball::net
