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

// An authority that is valid until the year 3023, and so beyond what a TimePoint can hold (2262).
constexpr char kLongLivedAuthority[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBczCCARmgAwIBAgIUXovjCXJCZ7lZ3nSmKa9G4Lw42CswCgYIKoZIzj0EAwIw\n"
    "DjEMMAoGA1UEAwwDZmFyMCAXDTI2MTExODIwNDA0MloYDzMwMjMwNjI1MjA0MDQy\n"
    "WjAOMQwwCgYDVQQDDANmYXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASaiDo+\n"
    "1BCeg2CoC3Vt+Q7IwJgddHdmcq0jkaGjXWRcQ0pMPLB5G7uDjm24xN9L8f+EI2BT\n"
    "rS9t/K3Sht9irOU4o1MwUTAdBgNVHQ4EFgQUFEjafQRhDHvFegARRnjqEBecLtsw\n"
    "HwYDVR0jBBgwFoAUFEjafQRhDHvFegARRnjqEBecLtswDwYDVR0TAQH/BAUwAwEB\n"
    "/zAKBggqhkjOPQQDAgNIADBFAiEAipkncjHuJPALlBiwABb4MK9625yyJFYb0NNC\n"
    "SS+jx3ACIBsOpSc7+QTVjdB/Q/wcsq/9hSPepFQ7QWKpCt5qruEy\n"
    "-----END CERTIFICATE-----\n";

TEST_F(AuthoritiesTest, AnAuthorityMayBeValidForCenturies) {
  const TimePoint now = TimePoint(std::chrono::seconds(1'900'000'000));
  const auto info = ParseCertificate(kLongLivedAuthority);
  ASSERT_TRUE(info);
  EXPECT_GT(info->not_after, now + 200 * 365 * kDay);
  // It is kept as a trusted one, and vouches for itself.
  const auto trusted = CertificateAuthorities::Parse(kLongLivedAuthority);
  ASSERT_TRUE(trusted);
  const auto itself = *PeerCertificates::Parse(kLongLivedAuthority);
  EXPECT_TRUE((*trusted)->VerifyClient(*itself, now));
}

// One that is valid from the year 1600 on, which is before what a TimePoint can hold (1677).
constexpr char kOldAuthority[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBQTCB56ADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA29sZDAiGA8x\n"
    "NjAwMDEwMTAwMDAwMFoYDzMwMjMwMTAxMDAwMDAwWjAOMQwwCgYDVQQDDANvbGQw\n"
    "WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASaiDo+1BCeg2CoC3Vt+Q7IwJgddHdm\n"
    "cq0jkaGjXWRcQ0pMPLB5G7uDjm24xN9L8f+EI2BTrS9t/K3Sht9irOU4ozIwMDAP\n"
    "BgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQUSNp9BGEMe8V6ABFGeOoQF5wu2zAK\n"
    "BggqhkjOPQQDAgNJADBGAiEAuAxQ41/JTBFT3kldmk40/e5uPDL0Kx77KgHmVmuj\n"
    "PysCIQDOeN0/f/D/8PxTbtLyAzcUArD6ENX4qx7SwF3R2imm8A==\n"
    "-----END CERTIFICATE-----\n";

TEST_F(AuthoritiesTest, AnAuthorityMayBeValidForCenturiesAlready) {
  const auto info = ParseCertificate(kOldAuthority);
  ASSERT_TRUE(info);
  EXPECT_LT(info->not_before, kNoon - 200 * 365 * kDay);
  const auto trusted = CertificateAuthorities::Parse(kOldAuthority);
  ASSERT_TRUE(trusted);
  EXPECT_TRUE((*trusted)->VerifyClient(**PeerCertificates::Parse(kOldAuthority), kNoon));
}

TEST_F(AuthoritiesTest, TextWithoutCertificatesIsAnError) {
  EXPECT_FALSE(CertificateAuthorities::Parse("nothing here"));
  EXPECT_FALSE(PeerCertificates::Parse(ours_.private_key_pem));
}

}  // namespace
}  // namespace flyball::net
