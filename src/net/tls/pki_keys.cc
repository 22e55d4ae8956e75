// Keys and JSON Web Signatures.
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>

#include <map>

#include "base/run/mutex.h"
#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {

namespace {

constexpr std::size_t kCoordinateBytes = 32;  // of P-256
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
bool IsP256(EVP_PKEY* key) {
  char group[32] = {};
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         std::string_view(group) == "prime256v1";
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

// JWS carries r and s side by side; OpenSSL speaks DER.
Result<std::string> RawFromDer(std::string_view der) {
  const unsigned char* at = Unsigned(der);
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) return Unexpected(OpenSslError("reading signature"));
  std::string raw(2 * kCoordinateBytes, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), Unsigned(raw), kCoordinateBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), Unsigned(raw) + kCoordinateBytes, kCoordinateBytes);
  return raw;
}

std::string DerFromRaw(std::string_view raw) {
  if (raw.size() != 2 * kCoordinateBytes) return {};
  const SignaturePtr signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(Unsigned(raw), kCoordinateBytes, nullptr),
                 BN_bin2bn(Unsigned(raw) + kCoordinateBytes, kCoordinateBytes, nullptr));
  std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(signature.get(), nullptr)), '\0');
  unsigned char* at = Unsigned(der);
  i2d_ECDSA_SIG(signature.get(), &at);
  return der;
}

Result<std::string> SignSha256(EVP_PKEY* key, std::string_view data) {
  const DigestPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, Unsigned(data), data.size()) != 1)
    return Unexpected(OpenSslError("signing"));
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), Unsigned(signature), &size, Unsigned(data), data.size()) != 1)
    return Unexpected(OpenSslError("signing"));
  signature.resize(size);
  return signature;
}

bool VerifySha256(EVP_PKEY* key, std::string_view data, std::string_view signature) {
  const DigestPtr context(EVP_MD_CTX_new());
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
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

}  // namespace

Result<std::string> MakePrivateKey(KeyType type) {
  const KeyPtr key(type == KeyType::kRsa2048 ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
  if (!key) return Unexpected(OpenSslError("making key"));
  return WritePrivateKey(key.get());
}

Result<std::string> PublicKeyPem(std::string_view private_or_public_key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, ReadPublicKey(private_or_public_key_pem));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_PUBKEY(bio.get(), key.get())) return Unexpected(OpenSslError("writing public key"));
  return BioText(bio.get());
}

Result<PublicKeyParts> DescribePublicKey(std::string_view key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, ReadPublicKey(key_pem));
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size < 0) return Unexpected(OpenSslError("encoding public key"));
  PublicKeyParts parts;
  parts.key_id = Base64UrlEncode(Sha256({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  if (IsRsa(key.get())) {
    parts.algorithm = "RS256";
    parts.kty = "RSA";
    parts.n = NumberParameter(key.get(), OSSL_PKEY_PARAM_RSA_N, 0);
    parts.e = NumberParameter(key.get(), OSSL_PKEY_PARAM_RSA_E, 0);
  } else if (IsP256(key.get())) {
    parts.algorithm = "ES256";
    parts.kty = "EC";
    parts.crv = "P-256";
    parts.x = NumberParameter(key.get(), OSSL_PKEY_PARAM_EC_PUB_X, kCoordinateBytes);
    parts.y = NumberParameter(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y, kCoordinateBytes);
  } else {
    return Unexpected(BadRequest("only RSA and ECDSA P-256 keys are supported"));
  }
  return parts;
}

Result<std::string> SignJws(std::string_view header_json, std::string_view payload_json,
                            std::string_view private_key_pem) {
  FLYBALL_ASSIGN(const KeyPtr key, PrivateKeys().Get(private_key_pem, ReadPrivateKey));
  if (!IsRsa(key.get()) && !IsP256(key.get()))
    return Unexpected(BadRequest("only RSA and ECDSA P-256 keys are supported"));
  std::string token = Base64UrlEncode(header_json) + "." + Base64UrlEncode(payload_json);
  FLYBALL_ASSIGN(std::string signature, SignSha256(key.get(), token));
  if (!IsRsa(key.get())) {
    FLYBALL_ASSIGN(signature, RawFromDer(signature));
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
  const auto signature = Base64UrlDecode(parts.signature);
  const auto key = PublicKeys().Get(public_key_pem, ReadPublicKey);
  if (!header || !signature || !key) return false;
  if (IsRsa(key->get()))
    return HeaderNamesAlgorithm(*header, "RS256") && VerifySha256(key->get(), parts.signed_text, *signature);
  if (!IsP256(key->get()) || !HeaderNamesAlgorithm(*header, "ES256")) return false;
  const std::string der = DerFromRaw(*signature);
  return !der.empty() && VerifySha256(key->get(), parts.signed_text, der);
}

}  // namespace flyball::net
