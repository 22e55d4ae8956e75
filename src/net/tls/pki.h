// Keys, certificates and signatures: the parts of OpenSSL that the rest of the program needs, as plain
// functions on PEM text and bytes. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::net {

struct KeyPair {
  std::string certificate_pem;
  std::string private_key_pem;
};

// A self-signed certificate authority (ECDSA P-256: making one takes well under a millisecond).
Result<KeyPair> MakeCertificateAuthority(const std::string& common_name, TimePoint now, Duration validity);

struct CertificateRequest {
  std::string common_name{};
  std::vector<std::string> organizations{};
  std::vector<std::string> dns_names{};
  std::vector<std::string> ip_addresses{};
  bool server = false;  // extended key usage serverAuth
  bool client = false;  // clientAuth
};
Result<KeyPair> IssueCertificate(const KeyPair& authority, const CertificateRequest& request, TimePoint now,
                                 Duration validity);

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> organizations, dns_names, ip_addresses;
  TimePoint not_before, not_after;
};
Result<CertificateInfo> ParseCertificate(std::string_view pem);
// What a certificate or a PKCS#10 request says of itself, both in DER. BadRequest if it is none.
struct CertificateDetails {
  bool is_ca = false;
  std::string public_key;  // DER
  TimePoint not_before, not_after;
  std::vector<std::string> dns_names;
};
Result<CertificateDetails> DescribeCertificate(std::string_view der);
struct CertificateRequestDetails {
  std::string key_type;  // "ED25519", "EC", "RSA" or OpenSSL's name of another
  std::string curve;     // of EC keys, as NIST names it: "P-256"; or OpenSSL's name of another
  int bits = 0;
  std::string public_key;  // DER
  bool signature_valid = false;
};
Result<CertificateRequestDetails> DescribeCertificateRequest(std::string_view der);

// Whether one of the authorities (one PEM text of several) signed the certificate, the first of its text.
bool IsSignedByAny(std::string_view certificate_pem, std::string_view authorities_pem);

// What a PEM certificate signing request (PKCS#10) asks for.
struct CertificateRequestInfo {
  std::string common_name;
  std::vector<std::string> organizations, dns_names, ip_addresses, email_addresses, uris;
};
// BadRequest if the text is not one, or is not signed by the key it carries.
Result<CertificateRequestInfo> ParseCertificateRequest(std::string_view csr_pem);

// A new key and a request for a certificate of it. `server` and `client` of the description are not part of
// a request and are ignored.
struct PendingCertificate {
  std::string request_pem;
  std::string private_key_pem;
};
Result<PendingCertificate> MakeCertificateRequest(const CertificateRequest& request);

// What a certificate made from a request may be used for, and when. Usages by OpenSSL's names
// ("digitalSignature"; "clientAuth"); BadRequest if one is unknown.
struct CertificateTerms {
  TimePoint not_before, not_after;
  std::vector<std::string> key_usages{}, extended_key_usages{};
};
// Signs a request with the authority. Subject, DNS names, addresses, e-mail addresses and URIs are taken from
// the request, everything else from `terms`; the certificate is never an authority. BadRequest if the request
// is not one or its signature does not match.
Result<std::string> SignCertificateRequest(const KeyPair& authority, std::string_view csr_pem,
                                           const CertificateTerms& terms);

// The SHA-256 of a certificate's DER form in hex: how logs and audit name it.
Result<std::string> CertificateFingerprint(std::string_view certificate_pem);
// Whether the key is that of the certificate.
bool IsKeyOf(std::string_view private_key_pem, std::string_view certificate_pem);

// Signing keys of service-account tokens.
enum class KeyType { kRsa2048, kEcdsaP256, kEcdsaP384, kEcdsaP521 };
Result<std::string> MakePrivateKey(KeyType type);
Result<std::string> PublicKeyPem(std::string_view private_or_public_key_pem);

// Parts of a public key as a JSON Web Key names them (kty, n/e or crv/x/y, base64url), and its Kubernetes key
// id (base64url of SHA-256 of the DER public key).
struct PublicKeyParts {
  std::string key_id, algorithm, kty, n, e, crv, x, y;
};
Result<PublicKeyParts> DescribePublicKey(std::string_view key_pem);
// The PEM of the public key that a JSON Web Key describes: RSA (n, e) or EC (crv P-256, P-384 or P-521; x,
// y). BadRequest for others, for RSA keys outside 1024 to 16384 bits and for points that are not on the
// curve.
Result<std::string> PublicKeyPemOf(const PublicKeyParts& parts);

// A compact JSON Web Signature over the two JSON texts; RS256, ES256, ES384 or ES512 by the key's type. The
// caller writes both texts.
Result<std::string> SignJws(std::string_view header_json, std::string_view payload_json,
                            std::string_view private_key_pem);
// The same with an algorithm of RFC 7518: RS, PS or ES with 256, 384 or 512. BadRequest if the key is not of
// its type.
Result<std::string> SignJws(std::string_view header_json, std::string_view payload_json,
                            std::string_view private_key_pem, std::string_view algorithm);
struct Jws {
  std::string header_json, payload_json;
};
// Splits a compact JWS without verifying; BadRequest if it is not one.
Result<Jws> DecodeJws(std::string_view token);
// True if the signature is by that key with the algorithm of the key's type.
bool VerifyJws(std::string_view token, std::string_view public_key_pem);
// True if the signature is by that key with that algorithm (RS, PS or ES with 256, 384 or 512), whatever the
// token's header says: the caller compares the two.
bool VerifyJws(std::string_view token, std::string_view public_key_pem, std::string_view algorithm);

std::string Sha256(std::string_view data);                            // 32 raw bytes
std::string Sha512(std::string_view data);                            // 64 raw bytes
std::string HmacSha256(std::string_view key, std::string_view data);  // 32 raw bytes
std::string HexEncode(std::string_view data);
std::string Base64Encode(std::string_view data);
Result<std::string> Base64Decode(std::string_view text);
std::string Base64UrlEncode(std::string_view data);  // no padding
Result<std::string> Base64UrlDecode(std::string_view text);
// n random bytes fit for keys.
std::string RandomBytes(std::size_t n);
bool ConstantTimeEqual(std::string_view a, std::string_view b);

}  // namespace flyball::net
