#include "net/tls/pki.h"

#include <gtest/gtest.h>

#include "net/tls/authorities.h"

namespace flyball::net {
namespace {

constexpr Duration kYear = std::chrono::hours(24 * 365);
const TimePoint kNow = TimePoint(std::chrono::seconds(1'750'000'000));

KeyPair Authority() {
  return *MakeCertificateAuthority("flyball-ca", kNow, 10 * kYear);
}

TEST(PkiTest, KeysAreWrittenInTheFormThatAllClientsRead) {
  EXPECT_TRUE(MakePrivateKey(KeyType::kEcdsaP256)->starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  EXPECT_TRUE(MakePrivateKey(KeyType::kRsa2048)->starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
}

TEST(PkiTest, AuthorityIssuesWhatWasAskedFor) {
  const KeyPair authority = Authority();
  const auto issued = IssueCertificate(authority,
                                       {.common_name = "kube-apiserver",
                                        .organizations = {"system:masters", "second"},
                                        .dns_names = {"localhost", "kubernetes.default.svc"},
                                        .ip_addresses = {"127.0.0.1", "::1"},
                                        .server = true},
                                       kNow, kYear);
  ASSERT_TRUE(issued);
  const auto info = ParseCertificate(issued->certificate_pem);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->common_name, "kube-apiserver");
  EXPECT_EQ(info->organizations, (std::vector<std::string>{"system:masters", "second"}));
  EXPECT_EQ(info->dns_names, (std::vector<std::string>{"localhost", "kubernetes.default.svc"}));
  EXPECT_EQ(info->ip_addresses, (std::vector<std::string>{"127.0.0.1", "::1"}));
  EXPECT_LT(info->not_before, kNow);
  EXPECT_EQ(info->not_after, kNow + kYear);
}

TEST(PkiTest, WhoSignedACertificateIsFoundAmongSeveral) {
  const KeyPair ours = Authority(), other = Authority();  // of one name: only the signature tells
  const auto issued = IssueCertificate(ours, {.common_name = "a"}, kNow, kYear);
  ASSERT_TRUE(issued);
  EXPECT_TRUE(IsSignedByAny(issued->certificate_pem, other.certificate_pem + ours.certificate_pem));
  EXPECT_FALSE(IsSignedByAny(issued->certificate_pem, other.certificate_pem));
  EXPECT_FALSE(IsSignedByAny("junk", ours.certificate_pem));
}

TEST(PkiTest, BadInputIsAnError) {
  EXPECT_TRUE(ParseCertificate("no pem").error().Is(Reason::kBadRequest));
  EXPECT_FALSE(IssueCertificate({"x", "y"}, {.common_name = "a"}, kNow, kYear));
  EXPECT_FALSE(IssueCertificate(Authority(), {.common_name = "a", .ip_addresses = {"1.2.3"}}, kNow, kYear));
  EXPECT_FALSE(SignCertificateRequest(Authority(), "junk", {kNow, kNow + kYear}));
  EXPECT_FALSE(DescribePublicKey("junk"));
}

TEST(PkiTest, SignsCertificateRequestKeepingSubjectAndNames) {
  // openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj
  // /O=system:nodes/CN=system:node:n1
  //   -addext subjectAltName=DNS:n1
  const char* csr = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBDDCBsgIBADAwMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFzAVBgNVBAMMDnN5
c3RlbTpub2RlOm4xMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHuyThaP4NCDq
tl34uREwuLaCqbPmqYReR3+bQtw9mF388Ze7HUMf1l4CmZRVF1VbVGTUgLUH9yU0
NIHAzktISaAgMB4GCSqGSIb3DQEJDjERMA8wDQYDVR0RBAYwBIICbjEwCgYIKoZI
zj0EAwIDSQAwRgIhALtkZgw9PO5Gh5eGB6et4H14GIbFESR8c8JAW/paEI69AiEA
2LJsVHHNodXfK+dwTLUC3dv5co93uWnfS44XokIxPZU=
-----END CERTIFICATE REQUEST-----
)";
  const auto pem = SignCertificateRequest(Authority(), csr, {kNow, kNow + kYear, {}, {"serverAuth"}});
  ASSERT_TRUE(pem) << pem.error().ToString();
  const auto info = ParseCertificate(*pem);
  EXPECT_EQ(info->common_name, "system:node:n1");
  EXPECT_EQ(info->organizations, std::vector<std::string>{"system:nodes"});
  EXPECT_EQ(info->dns_names, std::vector<std::string>{"n1"});
  EXPECT_EQ(info->not_before, kNow);
  EXPECT_EQ(info->not_after, kNow + kYear);
}

PendingCertificate PendingFor(const std::string& name) {
  return *MakeCertificateRequest({.common_name = name,
                                  .organizations = {"g1", "g2"},
                                  .dns_names = {"a.example"},
                                  .ip_addresses = {"10.0.0.1", "fd00::1"}});
}

TEST(PkiRequestTest, SaysWhatItAsksFor) {
  const auto info = ParseCertificateRequest(PendingFor("n").request_pem);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->common_name, "n");
  EXPECT_EQ(info->organizations, (std::vector<std::string>{"g1", "g2"}));
  EXPECT_EQ(info->dns_names, std::vector<std::string>{"a.example"});
  EXPECT_EQ(info->ip_addresses, (std::vector<std::string>{"10.0.0.1", "fd00::1"}));
  EXPECT_TRUE(info->email_addresses.empty());
  EXPECT_TRUE(info->uris.empty());
}

TEST(PkiRequestTest, EmailAddressesAndUrisAreSeen) {
  // openssl req -new -subj /CN=n -addext subjectAltName=email:a@b.c,URI:spiffe://x/y
  const char* csr = R"(-----BEGIN CERTIFICATE REQUEST-----
MIH4MIGfAgEAMAwxCjAIBgNVBAMMAW4wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAS2Ud1TxJ2OywCNVFkmg/3rJyovvlI0ykod3P4GG3bwSJld9eODKv/JY1/Uc4J3
QPZD5GlkWR5fnSmjq5z/ydmQoDEwLwYJKoZIhvcNAQkOMSIwIDAeBgNVHREEFzAV
gQVhQGIuY4YMc3BpZmZlOi8veC95MAoGCCqGSM49BAMCA0gAMEUCIQCE8qMy3s0g
csOf/QzhZg0Sz+D5G8uud4t2394aQzFKRAIgfC62TPvLji0Oed6GEPnSVrmLZhaO
2NeLNrTunmMf6NE=
-----END CERTIFICATE REQUEST-----
)";
  const auto info = ParseCertificateRequest(csr);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->email_addresses, std::vector<std::string>{"a@b.c"});
  EXPECT_EQ(info->uris, std::vector<std::string>{"spiffe://x/y"});
}

TEST(PkiRequestTest, OneWhoseSignatureDoesNotMatchIsRefused) {
  std::string pem = PendingFor("n").request_pem;
  std::string der = *Base64Decode([&] {
    std::string body = pem.substr(pem.find('\n') + 1);
    body.resize(body.find("-----END"));
    std::erase(body, '\n');
    return body;
  }());
  const auto at = der.find("a.example");
  ASSERT_NE(at, std::string::npos);
  der[at] = 'b';
  const std::string forged =
      "-----BEGIN CERTIFICATE REQUEST-----\n" + Base64Encode(der) + "\n-----END CERTIFICATE REQUEST-----\n";
  EXPECT_FALSE(ParseCertificateRequest(forged));
  EXPECT_FALSE(SignCertificateRequest(Authority(), forged, {kNow, kNow + kYear}));
}

TEST(PkiRequestTest, ASignedOneWorksForTheUsageItWasSignedForAndTheTimeItLasts) {
  const KeyPair authority = Authority();
  const PendingCertificate pending = PendingFor("n");
  const auto sign = [&](std::vector<std::string> usages) {
    return *SignCertificateRequest(authority, pending.request_pem,
                                   {kNow, kNow + kYear, {"digitalSignature"}, std::move(usages)});
  };
  const std::string client = sign({"clientAuth"});
  EXPECT_TRUE(IsKeyOf(pending.private_key_pem, client));
  EXPECT_FALSE(IsKeyOf(PendingFor("n").private_key_pem, client));
  const auto verify = [](const std::string& pem, const KeyPair& by, TimePoint at) {
    return (*CertificateAuthorities::Parse(by.certificate_pem))
        ->VerifyClient(**PeerCertificates::Parse(pem), at);
  };
  EXPECT_TRUE(verify(client, authority, kNow));
  EXPECT_FALSE(verify(client, Authority(), kNow));
  EXPECT_FALSE(verify(client, authority, kNow + 2 * kYear));
  EXPECT_FALSE(verify(client, authority, kNow - std::chrono::hours(1)));
  EXPECT_FALSE(verify(sign({"serverAuth"}), authority, kNow));
}

TEST(PkiRequestTest, UnknownUsagesAreRefused) {
  const std::string csr = PendingFor("n").request_pem;
  EXPECT_FALSE(SignCertificateRequest(Authority(), csr, {kNow, kNow + kYear, {"CA:TRUE"}, {}}));
  EXPECT_FALSE(SignCertificateRequest(Authority(), csr, {kNow, kNow + kYear, {}, {"x,critical"}}));
}

TEST(PkiTest, HmacOfRfc4231) {
  EXPECT_EQ(HexEncode(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

class JwsTest : public testing::TestWithParam<KeyType> {};

TEST_P(JwsTest, SignedByOneKeyVerifiesWithThatKeyOnly) {
  const auto key = MakePrivateKey(GetParam());
  const auto other = MakePrivateKey(GetParam());
  const std::string header = R"({"alg":")" + DescribePublicKey(*key)->algorithm + R"("})";
  const auto token = SignJws(header, R"({"sub":"me"})", *key);
  ASSERT_TRUE(token);
  EXPECT_TRUE(VerifyJws(*token, *PublicKeyPem(*key)));
  EXPECT_TRUE(VerifyJws(*token, *key));
  EXPECT_FALSE(VerifyJws(*token, *PublicKeyPem(*other)));
  EXPECT_FALSE(VerifyJws(*token + "A", *PublicKeyPem(*key)));
  EXPECT_EQ(DecodeJws(*token)->payload_json, R"({"sub":"me"})");

  std::string forged = *token;
  forged[header.size() + 10] ^= 1;
  EXPECT_FALSE(VerifyJws(forged, *PublicKeyPem(*key)));
  const auto none = SignJws(R"({"alg":"none"})", "{}", *key);
  EXPECT_FALSE(VerifyJws(*none, *PublicKeyPem(*key)));
}

TEST_P(JwsTest, DescribesThePublicKey) {
  const auto key = MakePrivateKey(GetParam());
  const auto from_private = DescribePublicKey(*key);
  const auto from_public = DescribePublicKey(*PublicKeyPem(*key));
  ASSERT_TRUE(from_private && from_public);
  EXPECT_EQ(from_private->key_id, from_public->key_id);
  EXPECT_EQ(Base64UrlDecode(from_public->key_id)->size(), 32u);
  if (GetParam() == KeyType::kRsa2048) {
    EXPECT_EQ(from_public->e, "AQAB");
    EXPECT_EQ(Base64UrlDecode(from_public->n)->size(), 256u);
  } else {
    const std::size_t width = from_public->crv == "P-256" ? 32 : from_public->crv == "P-384" ? 48 : 66;
    EXPECT_EQ(Base64UrlDecode(from_public->x)->size(), width);
    EXPECT_EQ(Base64UrlDecode(from_public->y)->size(), width);
  }
}

TEST_P(JwsTest, APublicKeyIsMadeAgainFromItsParts) {
  const auto key = MakePrivateKey(GetParam());
  EXPECT_EQ(*PublicKeyPemOf(*DescribePublicKey(*key)), *PublicKeyPem(*key));
}

INSTANTIATE_TEST_SUITE_P(Keys, JwsTest,
                         testing::Values(KeyType::kRsa2048, KeyType::kEcdsaP256, KeyType::kEcdsaP384,
                                         KeyType::kEcdsaP521));

struct AlgorithmCase {
  const char* name;
  KeyType key;
};
class JwsAlgorithmTest : public testing::TestWithParam<AlgorithmCase> {};

TEST_P(JwsAlgorithmTest, VerifiesWithThatAlgorithmOnly) {
  const auto [name, type] = GetParam();
  const auto key = *MakePrivateKey(type);
  const auto token = SignJws("{}", R"({"sub":"me"})", key, name);
  ASSERT_TRUE(token) << token.error().ToString();
  for (const char* other : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"})
    EXPECT_EQ(VerifyJws(*token, *PublicKeyPem(key), other), std::string_view(other) == name) << other;
  for (const char* bad : {"", "none", "HS256", "rs256"})
    EXPECT_FALSE(VerifyJws(*token, *PublicKeyPem(key), bad)) << bad;
  const auto unrelated = *MakePrivateKey(type);
  EXPECT_FALSE(VerifyJws(*token, *PublicKeyPem(unrelated), name));
}

INSTANTIATE_TEST_SUITE_P(
    All, JwsAlgorithmTest,
    testing::Values(AlgorithmCase{"RS256", KeyType::kRsa2048}, AlgorithmCase{"RS384", KeyType::kRsa2048},
                    AlgorithmCase{"RS512", KeyType::kRsa2048}, AlgorithmCase{"PS256", KeyType::kRsa2048},
                    AlgorithmCase{"PS384", KeyType::kRsa2048}, AlgorithmCase{"PS512", KeyType::kRsa2048},
                    AlgorithmCase{"ES256", KeyType::kEcdsaP256}, AlgorithmCase{"ES384", KeyType::kEcdsaP384},
                    AlgorithmCase{"ES512", KeyType::kEcdsaP521}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(JsonWebKeyTest, RefusesKeysThatAreNoGood) {
  const auto rsa = *DescribePublicKey(*MakePrivateKey(KeyType::kRsa2048));
  const auto ec = *DescribePublicKey(*MakePrivateKey(KeyType::kEcdsaP256));
  const auto refused = [](PublicKeyParts parts) { return !PublicKeyPemOf(parts); };
  auto parts = rsa;
  parts.n = Base64UrlEncode(std::string(64, '\xff'));  // 512 bits
  EXPECT_TRUE(refused(parts));
  parts.n = Base64UrlEncode(std::string(4096, '\xff'));  // 32768 bits
  EXPECT_TRUE(refused(parts));
  parts = rsa;
  parts.e = "AQ";  // 1
  EXPECT_TRUE(refused(parts));
  parts = ec;
  parts.y = parts.x;  // not on the curve
  EXPECT_TRUE(refused(parts));
  parts = ec;
  parts.crv = "secp256k1";
  EXPECT_TRUE(refused(parts));
  parts = ec;
  parts.x = "AQ";
  EXPECT_TRUE(refused(parts));
  parts.kty = "oct";
  EXPECT_TRUE(refused(parts));
}

TEST(JwsDecodeTest, RefusesWhatIsNoToken) {
  for (const char* text : {"", "a", "a.b", "a.b.c.d", "!!.e30.e30", "e30.e30.=="})
    EXPECT_FALSE(DecodeJws(text)) << text;
}

TEST(EncodingTest, Base64BothWays) {
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64UrlEncode("\xff\xfe\xfd\xfc"), "__79_A");
  std::string all;
  for (int i = 0; i < 256; ++i) {
    all += static_cast<char>(i);
    EXPECT_EQ(*Base64Decode(Base64Encode(all)), all);
    EXPECT_EQ(*Base64UrlDecode(Base64UrlEncode(all)), all);
  }
  EXPECT_EQ(*Base64Decode("Zm9v\r\nYmE=\n"), "fooba");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Z=g=", "Zm9v!", "Zm 9v", "===="})
    EXPECT_FALSE(Base64Decode(bad)) << bad;
}

TEST(EncodingTest, Hashes) {
  EXPECT_EQ(HexEncode(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexEncode(Sha512("")).substr(0, 16), "cf83e1357eefb8bd");
  EXPECT_EQ(RandomBytes(16).size(), 16u);
  EXPECT_NE(RandomBytes(16), RandomBytes(16));
  EXPECT_TRUE(ConstantTimeEqual("ab", "ab"));
  EXPECT_FALSE(ConstantTimeEqual("ab", "ac"));
  EXPECT_FALSE(ConstantTimeEqual("ab", "abc"));
}

}  // namespace
}  // namespace flyball::net
