// Keys and JSON Web Signatures.
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "base/run/mutex.h"
#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {

namespace {

// RSA keys outside these are too weak, or take too long to verify with.
constexpr int kMinRsaBits = 1024, kMaxRsaBits = 16384;

struct EllipticCurve {
  std::string_view name, group;  // "P-256", OpenSSL's name
  std::size_t coordinate_bytes;
};
constexpr std::array kCurves = {EllipticCurve{"P-256", "prime256v1", 32},
                                EllipticCurve{"P-384", "secp384r1", 48},
                                EllipticCurve{"P-521", "secp521r1", 66}};

// A signature algorithm of RFC 7518, section 3.1.
struct JwsAlgorithm {
  std::string_view name;
  const EVP_MD* (*digest)();
  enum class Scheme { kPkcs1, kPss, kEcdsa } scheme;
  const EllipticCurve* curve;  // of kEcdsa
};
constexpr std::array kJwsAlgorithms = {
    JwsAlgorithm{"RS256", EVP_sha256, JwsAlgorithm::Scheme::kPkcs1, nullptr},
    JwsAlgorithm{"RS384", EVP_sha384, JwsAlgorithm::Scheme::kPkcs1, nullptr},
    JwsAlgorithm{"RS512", EVP_sha512, JwsAlgorithm::Scheme::kPkcs1, nullptr},
    JwsAlgorithm{"PS256", EVP_sha256, JwsAlgorithm::Scheme::kPss, nullptr},
    JwsAlgorithm{"PS384", EVP_sha384, JwsAlgorithm::Scheme::kPss, nullptr},
    JwsAlgorithm{"PS512", EVP_sha512, JwsAlgorithm::Scheme::kPss, nullptr},
    JwsAlgorithm{"ES256", EVP_sha256, JwsAlgorithm::Scheme::kEcdsa, &kCurves[0]},
    JwsAlgorithm{"ES384", EVP_sha384, JwsAlgorithm::Scheme::kEcdsa, &kCurves[1]},
    JwsAlgorithm{"ES512", EVP_sha512, JwsAlgorithm::Scheme::kEcdsa, &kCurves[2]},
};

const JwsAlgorithm* FindAlgorithm(std::string_view name) {
  for (const auto& algorithm : kJwsAlgorithms)
    if (algorithm.name == name) return &algorithm;
  return nullptr;
}
// A server has a handful of token keys; more than this many means someone feeds us random ones.
constexpr std::size_t kMaxCachedKeys = 32;

using BignumPtr = std::unique_ptr<BIGNUM, OpenSslFree<BN_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, OpenSslFree<ECDSA_SIG_free>>;

// Parsing PEM costs more than verifying a signature, so parsed keys are kept.
class KeyCache {
 public:
  using Reader = Result<KeyPtr> (*)(std::string_view);

  Result<KeyPtr> Get(std::string_view pem, Reader read) FLYBALL_EXCLUDES(mu_) {
    {
      MutexLock lock(mu_);
      if (auto it = keys_.find(pem); it != keys_.end()) return Share(it->second.get());
    }
    FLYBALL_ASSIGN(KeyPtr key, read(pem));
    MutexLock lock(mu_);
    if (keys_.size() >= kMaxCachedKeys) keys_.clear();
    keys_.insert_or_assign(std::string(pem), Share(key.get()));
    return key;
  }

 private:
  static KeyPtr Share(EVP_PKEY* key) {
    EVP_PKEY_up_ref(key);
    return KeyPtr(key);
  }
  Mutex mu_;
  std::map<std::string, KeyPtr, std::less<>> keys_ FLYBALL_GUARDED_BY(mu_);
};

KeyCache& PrivateKeys() {
  static auto* cache = new KeyCache;
  return *cache;
}
KeyCache& PublicKeys() {
  static auto* cache = new KeyCache;
  return *cache;
}

bool IsRsa(EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
}
bool IsOnCurve(EVP_PKEY* key, const EllipticCurve& curve) {
  char group[32] = {};
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 && curve.group == group;
}
bool Fits(EVP_PKEY* key, const JwsAlgorithm& algorithm) {
  return algorithm.curve ? IsOnCurve(key, *algorithm.curve) : IsRsa(key);
}

// The algorithm Kubernetes signs with, given the key: RS256, or ES256, ES384 or ES512 by its curve. Null for
// other keys.
const JwsAlgorithm* UsualAlgorithm(EVP_PKEY* key) {
  for (const auto& algorithm : kJwsAlgorithms)
    if (algorithm.scheme != JwsAlgorithm::Scheme::kPss && Fits(key, algorithm)) return &algorithm;
  return nullptr;
}

Error UnsupportedKey() {
  return BadRequest("only RSA keys and ECDSA keys on P-256, P-384 and P-521 are supported");
}

const unsigned char* Unsigned(std::string_view s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}
unsigned char* Unsigned(std::string& s) {
  return reinterpret_cast<unsigned char*>(s.data());
}

std::string NumberParameter(EVP_PKEY* key, const char* name, std::size_t width) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return {};
  const BignumPtr owned(number);
  std::string bytes(width > 0 ? width : static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  if (BN_bn2binpad(number, Unsigned(bytes), static_cast<int>(bytes.size())) < 0) return {};
  return Base64UrlEncode(bytes);
}

// JWS carries r and s side by side, each of `width` bytes; OpenSSL speaks DER.
Result<std::string> RawFromDer(std::string_view der, std::size_t width) {
  const unsigned char* at = Unsigned(der);
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) return Unexpected(OpenSslError("reading signature"));
  std::string raw(2 * width, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), Unsigned(raw), static_cast<int>(width));
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), Unsigned(raw) + width, static_cast<int>(width));
  return raw;
}

std::string DerFromRaw(std::string_view raw, std::size_t width) {
  if (raw.size() != 2 * width) return {};
  const SignaturePtr signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(Unsigned(raw), static_cast<int>(width), nullptr),
                 BN_bin2bn(Unsigned(raw) + width, static_cast<int>(width), nullptr));
  std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(signature.get(), nullptr)), '\0');
  unsigned char* at = Unsigned(der);
  i2d_ECDSA_SIG(signature.get(), &at);
  return der;
}

bool UsePadding(EVP_PKEY_CTX* context, const JwsAlgorithm& algorithm, int salt) {
  if (algorithm.scheme != JwsAlgorithm::Scheme::kPss) return true;
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, salt) == 1;
}

Result<std::string> SignText(EVP_PKEY* key, std::string_view data, const JwsAlgorithm& algorithm) {
  const DigestPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), &parameters, algorithm.digest(), nullptr, key) != 1 ||
      !UsePadding(parameters, algorithm, RSA_PSS_SALTLEN_DIGEST) ||
      EVP_DigestSign(context.get(), nullptr, &size, Unsigned(data), data.size()) != 1)
    return Unexpected(OpenSslError("signing"));
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), Unsigned(signature), &size, Unsigned(data), data.size()) != 1)
    return Unexpected(OpenSslError("signing"));
  signature.resize(size);
  return signature;
}

bool VerifyText(EVP_PKEY* key, std::string_view data, std::string_view signature,
                const JwsAlgorithm& algorithm) {
  const DigestPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  const bool good = EVP_DigestVerifyInit(context.get(), &parameters, algorithm.digest(), nullptr, key) == 1 &&
                    UsePadding(parameters, algorithm, RSA_PSS_SALTLEN_AUTO) &&
                    EVP_DigestVerify(context.get(), Unsigned(signature), signature.size(), Unsigned(data),
                                     data.size()) == 1;
  if (!good) OpenSslError("");
  return good;
}

// The "alg" of a JWS header, found without a JSON parser: this module has none. Only the exact spelling that
// signers write counts; anything else is not a signature we accept.
bool HeaderNamesAlgorithm(std::string_view header, std::string_view algorithm) {
  for (std::size_t at = header.find("\"alg\""); at != std::string_view::npos;
       at = header.find("\"alg\"", at + 1)) {
    std::size_t i = header.find_first_not_of(" \t\r\n", at + 5);
    if (i == std::string_view::npos || header[i] != ':') continue;
    i = header.find_first_not_of(" \t\r\n", i + 1);
    if (i == std::string_view::npos) return false;
    const std::string_view value = header.substr(i);
    return value.size() >= algorithm.size() + 2 && value[0] == '"' &&
           value.substr(1, algorithm.size()) == algorithm && value[algorithm.size() + 1] == '"';
  }
  return false;
}

struct JwsParts {
  std::string_view header, payload, signature, signed_text;
};

bool SplitJws(std::string_view token, JwsParts& parts) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return false;
  parts = {token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
           token.substr(0, second)};
  return true;
}

using ParameterBuilder = std::unique_ptr<OSSL_PARAM_BLD, OpenSslFree<OSSL_PARAM_BLD_free>>;
using ParametersPtr = std::unique_ptr<OSSL_PARAM, OpenSslFree<OSSL_PARAM_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, OpenSslFree<EVP_PKEY_CTX_free>>;

Result<KeyPtr> KeyFromParameters(const char* type, OSSL_PARAM_BLD* builder) {
  const ParametersPtr parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return Unexpected(BadRequest(OpenSslError("reading JSON Web Key").message()));
  return KeyPtr(key);
}

BignumPtr NumberOf(std::string_view bytes) {
  return BignumPtr(BN_bin2bn(Unsigned(bytes), static_cast<int>(bytes.size()), nullptr));
}

Result<KeyPtr> RsaKeyOf(const PublicKeyParts& parts) {
  FLYBALL_ASSIGN(const std::string n, Base64UrlDecode(parts.n));
  FLYBALL_ASSIGN(const std::string e, Base64UrlDecode(parts.e));
  if (n.size() > kMaxRsaBits / 8 || e.size() > sizeof(std::uint64_t))
    return Unexpected(BadRequest("RSA key is too large"));
  const BignumPtr modulus = NumberOf(n), exponent = NumberOf(e);
  if (BN_num_bits(modulus.get()) < kMinRsaBits || !BN_is_odd(exponent.get()) || BN_is_one(exponent.get()))
    return Unexpected(BadRequest("RSA key is too weak"));
  const ParameterBuilder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return KeyFromParameters("RSA", builder.get());
}

Result<KeyPtr> EcKeyOf(const PublicKeyParts& parts) {
  const auto* curve = std::find_if(kCurves.begin(), kCurves.end(),
                                   [&](const EllipticCurve& known) { return known.name == parts.crv; });
  if (curve == kCurves.end()) return Unexpected(BadRequest("unknown elliptic curve \"" + parts.crv + "\""));
  FLYBALL_ASSIGN(const std::string x, Base64UrlDecode(parts.x));
  FLYBALL_ASSIGN(const std::string y, Base64UrlDecode(parts.y));
  if (x.size() != curve->coordinate_bytes || y.size() != curve->coordinate_bytes)
    return Unexpected(BadRequest("coordinates of the wrong size for " + parts.crv));
  const std::string point = "\x04" + x + y;  // uncompressed
  const ParameterBuilder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->group.data(),
                                  curve->group.size());
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return KeyFromParameters("EC", builder.get());
}

KeyPtr GenerateKey(KeyType type) {
  switch (type) {
    case KeyType::kRsa2048:
      return KeyPtr(EVP_RSA_gen(2048));
    case KeyType::kEcdsaP256:
      return KeyPtr(EVP_EC_gen("P-256"));
    case KeyType::kEcdsaP384:
      return KeyPtr(EVP_EC_gen("P-384"));
    case KeyType::kEcdsaP521:
      return KeyPtr(EVP_EC_gen("P-521"));
  }
  return nullptr;
}

Result<std::string> WritePublicKey(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_PUBKEY(bio.get(), key)) return Unexpected(OpenSslError("writing public key"));
  return BioText(bio.get());
}

}  // namespace

Result<std::string> MakePrivateKey(KeyType type) {
  const KeyPtr key = GenerateKey(type);
  if (!key) return Unexpected(OpenSslError("making key"));
  return WritePrivateKey(key.get());
}

Result<std::string> PublicKeyPem(std::string_view private_or_public_key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, ReadPublicKey(private_or_public_key_pem));
  return WritePublicKey(key.get());
}

Result<std::string> PublicKeyPemOf(const PublicKeyParts& parts) {
  if (parts.kty != "RSA" && parts.kty != "EC")
    return Unexpected(BadRequest("unsupported key type \"" + parts.kty + "\""));
  FLYBALL_ASSIGN(const KeyPtr key, parts.kty == "RSA" ? RsaKeyOf(parts) : EcKeyOf(parts));
  return WritePublicKey(key.get());
}

Result<PublicKeyParts> DescribePublicKey(std::string_view key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, ReadPublicKey(key_pem));
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size < 0) return Unexpected(OpenSslError("encoding public key"));
  PublicKeyParts parts;
  parts.key_id = Base64UrlEncode(Sha256({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  const auto* algorithm = UsualAlgorithm(key.get());
  if (!algorithm) return Unexpected(UnsupportedKey());
  parts.algorithm = algorithm->name;
  if (!algorithm->curve) {
    parts.kty = "RSA";
    parts.n = NumberParameter(key.get(), OSSL_PKEY_PARAM_RSA_N, 0);
    parts.e = NumberParameter(key.get(), OSSL_PKEY_PARAM_RSA_E, 0);
  } else {
    const auto width = algorithm->curve->coordinate_bytes;
    parts.kty = "EC";
    parts.crv = algorithm->curve->name;
    parts.x = NumberParameter(key.get(), OSSL_PKEY_PARAM_EC_PUB_X, width);
    parts.y = NumberParameter(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y, width);
  }
  return parts;
}

Result<std::string> SignJws(std::string_view header_json, std::string_view payload_json,
                            std::string_view private_key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, PrivateKeys().Get(private_key_pem, ReadPrivateKey));
  const auto* algorithm = UsualAlgorithm(key.get());
  if (!algorithm) return Unexpected(UnsupportedKey());
  return SignJws(header_json, payload_json, private_key_pem, algorithm->name);
}

Result<std::string> SignJws(std::string_view header_json, std::string_view payload_json,
                            std::string_view private_key_pem, std::string_view algorithm_name) {
  FLYBALL_ASSIGN(const KeyPtr key, PrivateKeys().Get(private_key_pem, ReadPrivateKey));
  const auto* algorithm = FindAlgorithm(algorithm_name);
  if (!algorithm || !Fits(key.get(), *algorithm))
    return Unexpected(BadRequest("the key cannot sign with " + std::string(algorithm_name)));
  std::string token = Base64UrlEncode(header_json) + "." + Base64UrlEncode(payload_json);
  FLYBALL_ASSIGN(std::string signature, SignText(key.get(), token, *algorithm));
  if (algorithm->curve) {
    FLYBALL_ASSIGN(signature, RawFromDer(signature, algorithm->curve->coordinate_bytes));
  }
  token += '.';
  token += Base64UrlEncode(signature);
  return token;
}

Result<Jws> DecodeJws(std::string_view token) {
  JwsParts parts;
  if (!SplitJws(token, parts)) return Unexpected(BadRequest("not a compact JSON Web Signature"));
  Jws jws;
  FLYBALL_ASSIGN(jws.header_json, Base64UrlDecode(parts.header));
  FLYBALL_ASSIGN(jws.payload_json, Base64UrlDecode(parts.payload));
  FLYBALL_TRY(Base64UrlDecode(parts.signature));
  return jws;
}

bool VerifyJws(std::string_view token, std::string_view public_key_pem) {
  JwsParts parts;
  if (!SplitJws(token, parts)) return false;
  const auto header = Base64UrlDecode(parts.header);
  const auto key = PublicKeys().Get(public_key_pem, ReadPublicKey);
  if (!header || !key) return false;
  const auto* algorithm = UsualAlgorithm(key->get());
  return algorithm && HeaderNamesAlgorithm(*header, algorithm->name) &&
         VerifyJws(token, public_key_pem, algorithm->name);
}

bool VerifyJws(std::string_view token, std::string_view public_key_pem, std::string_view algorithm_name) {
  JwsParts parts;
  const auto* algorithm = FindAlgorithm(algorithm_name);
  if (!algorithm || !SplitJws(token, parts)) return false;
  auto signature = Base64UrlDecode(parts.signature);
  const auto key = PublicKeys().Get(public_key_pem, ReadPublicKey);
  if (!signature || !key || !Fits(key->get(), *algorithm)) return false;
  if (algorithm->curve) signature = DerFromRaw(*signature, algorithm->curve->coordinate_bytes);
  return !signature->empty() && VerifyText(key->get(), parts.signed_text, *signature, *algorithm);
}

}  // namespace flyball::net
