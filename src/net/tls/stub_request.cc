#include "net/tls/stub_request.h"

#include <openssl/pem.h>

#include "net/tls/openssl.h"

namespace flyball::net {
namespace {

Result<KeyPtr> MakeKey(std::string_view type) {
  KeyPtr key;
  if (type == "RSA3072")
    key.reset(EVP_RSA_gen(3072));
  else if (type == "RSA4096")
    key.reset(EVP_RSA_gen(4096));
  else if (type == "ECDSAP256")
    key.reset(EVP_EC_gen("P-256"));
  else if (type == "ECDSAP384")
    key.reset(EVP_EC_gen("P-384"));
  else if (type == "ECDSAP521")
    key.reset(EVP_EC_gen("P-521"));
  else if (type == "ED25519")
    key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  else
    return Unexpected(BadRequest("unknown key type \"" + std::string(type) + "\""));
  if (!key) return Unexpected(OpenSslError("making key"));
  return key;
}

const EVP_MD* DigestFor(std::string_view type) {
  if (type == "ED25519") return nullptr;  // it has its own
  if (type == "ECDSAP384") return EVP_sha384();
  return type == "ECDSAP521" ? EVP_sha512() : EVP_sha256();
}

}  // namespace

Result<StubRequest> MakeStubRequest(std::string_view key_type) {
  FLYBALL_ASSIGN(const KeyPtr key, MakeKey(key_type));
  const X509ReqPtr request(X509_REQ_new());
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), DigestFor(key_type)) <= 0)
    return Unexpected(OpenSslError("making certificate request"));
  unsigned char* der = nullptr;
  const int size = i2d_X509_REQ(request.get(), &der);
  if (size < 0) return Unexpected(OpenSslError("encoding certificate request"));
  StubRequest stub;
  stub.request_der.assign(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  const BioPtr pem(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_PKCS8PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr))
    return Unexpected(OpenSslError("writing private key"));
  stub.private_key_pem = BioText(pem.get());
  return stub;
}

}  // namespace flyball::net
