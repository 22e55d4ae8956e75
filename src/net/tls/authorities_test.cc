#include "net/tls/authorities.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::net {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
const TimePoint kNoon = TimePoint(std::chrono::seconds(1'750'000'000));

class AuthoritiesTest : public testing::Test {
 protected:
  std::shared_ptr<const PeerCertificates> Client(const CertificateRequest& request) {
    return *PeerCertificates::Parse(IssueCertificate(ours_, request, kNoon, kDay)->certificate_pem);
  }

  const KeyPair ours_ = *MakeCertificateAuthority("ours", kNoon, 10 * kDay);
  const KeyPair other_ = *MakeCertificateAuthority("ours", kNoon, 10 * kDay);  // by name only
  const std::shared_ptr<const CertificateAuthorities> trusted_ =
      *CertificateAuthorities::Parse(ours_.certificate_pem);
};

TEST_F(AuthoritiesTest, AClientOfTheAuthorityIsVerified) {
  const auto alice = Client({.common_name = "alice", .organizations = {"a", "b"}, .client = true});
  EXPECT_EQ(alice->common_name(), "alice");
  EXPECT_EQ(alice->organizations(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(trusted_->VerifyClient(*alice, kNoon));
  EXPECT_TRUE(trusted_->VerifyClient(*alice, kNoon));
}

TEST_F(AuthoritiesTest, AnotherAuthorityDoesNotVouchEvenAfterOursDid) {
  const auto alice = Client({.common_name = "alice", .client = true});
  const auto others = *CertificateAuthorities::Parse(other_.certificate_pem);
  EXPECT_TRUE(trusted_->VerifyClient(*alice, kNoon));
  EXPECT_FALSE(others->VerifyClient(*alice, kNoon));
  const auto both = *CertificateAuthorities::Parse(other_.certificate_pem + ours_.certificate_pem);
  EXPECT_TRUE(both->VerifyClient(*alice, kNoon));
}

TEST_F(AuthoritiesTest, AnExpiredCertificateIsRefusedAlsoOnAnOldConnection) {
  const auto alice = Client({.common_name = "alice", .client = true});
  EXPECT_TRUE(trusted_->VerifyClient(*alice, kNoon));
  EXPECT_FALSE(trusted_->VerifyClient(*alice, kNoon + 2 * kDay));
  EXPECT_FALSE(trusted_->VerifyClient(*alice, kNoon - 2 * kDay));
}

TEST_F(AuthoritiesTest, AServersCertificateIsNoClients) {
  EXPECT_FALSE(trusted_->VerifyClient(*Client({.common_name = "web", .server = true}), kNoon));
}

TEST_F(AuthoritiesTest, TextWithoutCertificatesIsAnError) {
  EXPECT_FALSE(CertificateAuthorities::Parse("nothing here"));
  EXPECT_FALSE(PeerCertificates::Parse(ours_.private_key_pem));
}

}  // namespace
}  // namespace flyball::net
