#include "net/tls/stub_request.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::net {
namespace {

TEST(StubRequestTest, ProvesTheKeyOfEachType) {
  const struct {
    const char* type;
    const char* key;
    const char* curve;
    int bits;
  } cases[] = {{"ECDSAP256", "EC", "P-256", 256},
               {"ECDSAP384", "EC", "P-384", 384},
               {"ECDSAP521", "EC", "P-521", 521},
               {"ED25519", "ED25519", "", 256},
               {"RSA3072", "RSA", "", 3072}};
  for (const auto& wanted : cases) {
    SCOPED_TRACE(wanted.type);
    const auto stub = MakeStubRequest(wanted.type);
    ASSERT_TRUE(stub) << stub.error().ToString();
    EXPECT_TRUE(stub->private_key_pem.starts_with("-----BEGIN PRIVATE KEY-----"));
    const auto details = DescribeCertificateRequest(stub->request_der);
    ASSERT_TRUE(details) << details.error().ToString();
    EXPECT_TRUE(details->signature_valid);
    EXPECT_EQ(details->key_type, wanted.key);
    EXPECT_EQ(details->curve, wanted.curve);
    EXPECT_EQ(details->bits, wanted.bits);
  }
}

TEST(StubRequestTest, OtherTypesAreRefused) {
  EXPECT_TRUE(MakeStubRequest("DSA").error().Is(Reason::kBadRequest));
}

}  // namespace
}  // namespace flyball::net
