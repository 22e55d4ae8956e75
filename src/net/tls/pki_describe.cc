// What certificates and requests say of themselves.
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {
namespace {

using DescribedNames = std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;

std::string PublicKeyDer(EVP_PKEY* key) {
  unsigned char* bytes = nullptr;
  const int length = i2d_PUBKEY(key, &bytes);
  if (length <= 0) return {};
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  OPENSSL_free(bytes);
  return der;
}

// NIST's name where there is one: Go knows the curves by it.
std::string CurveName(EVP_PKEY* key) {
  char name[64] = {};
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return {};
  const char* nist = EC_curve_nid2nist(OBJ_txt2nid(name));
  return nist != nullptr ? nist : std::string(name, length);
}

}  // namespace

Result<CertificateDetails> DescribeCertificate(std::string_view der) {
  auto at = reinterpret_cast<const unsigned char*>(der.data());
  const X509Ptr certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (!certificate || at != reinterpret_cast<const unsigned char*>(der.data() + der.size()))
    return Unexpected(BadRequest(OpenSslError("reading certificate").message()));
  CertificateDetails details;
  details.is_ca = X509_check_ca(certificate.get()) == 1;
  if (EVP_PKEY* key = X509_get0_pubkey(certificate.get())) details.public_key = PublicKeyDer(key);
  details.not_before = TimeOf(X509_get0_notBefore(certificate.get()));
  details.not_after = TimeOf(X509_get0_notAfter(certificate.get()));
  const DescribedNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    details.dns_names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                                   static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  ERR_clear_error();
  return details;
}

Result<CertificateRequestDetails> DescribeCertificateRequest(std::string_view der) {
  auto at = reinterpret_cast<const unsigned char*>(der.data());
  const X509ReqPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  EVP_PKEY* key = request ? X509_REQ_get0_pubkey(request.get()) : nullptr;
  if (key == nullptr || at != reinterpret_cast<const unsigned char*>(der.data() + der.size()))
    return Unexpected(BadRequest(OpenSslError("reading certificate request").message()));
  CertificateRequestDetails details;
  details.key_type = EVP_PKEY_get0_type_name(key);
  details.bits = EVP_PKEY_get_bits(key);
  if (details.key_type == "EC") details.curve = CurveName(key);
  details.public_key = PublicKeyDer(key);
  details.signature_valid = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  return details;
}

}  // namespace flyball::net
