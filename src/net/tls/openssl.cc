#include "net/tls/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>

#include "net/tls/pki.h"

namespace flyball::net {

Error OpenSslError(std::string_view doing) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  std::string message(doing);
  if (code != 0) {
    const char* reason = ERR_reason_error_string(code);
    message += ": ";
    message += reason ? reason : "unknown OpenSSL error";
  }
  return InternalError(std::move(message));
}

BioPtr ReadBio(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

TimePoint TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  const std::chrono::seconds since_epoch(timegm(&parts));
  constexpr auto kFirst = std::chrono::ceil<std::chrono::seconds>(TimePoint::min().time_since_epoch());
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(TimePoint::max().time_since_epoch());
  return TimePoint(std::clamp(since_epoch, kFirst, kLast));
}

Result<X509Ptr> ReadCertificate(std::string_view pem) {
  X509Ptr certificate(PEM_read_bio_X509(ReadBio(pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) return Unexpected(BadRequest(OpenSslError("reading certificate").message()));
  return certificate;
}

namespace {

// An encrypted key would make OpenSSL ask on the terminal: answer with nothing instead.
int NoPassword(char*, int, int, void*) {
  return 0;
}

}  // namespace

Result<KeyPtr> ReadPrivateKey(std::string_view pem) {
  KeyPtr key(PEM_read_bio_PrivateKey(ReadBio(pem).get(), nullptr, NoPassword, nullptr));
  if (!key) return Unexpected(BadRequest(OpenSslError("reading private key").message()));
  return key;
}

Result<KeyPtr> ReadPublicKey(std::string_view pem) {
  if (KeyPtr key(PEM_read_bio_PUBKEY(ReadBio(pem).get(), nullptr, NoPassword, nullptr)); key) return key;
  ERR_clear_error();
  if (auto key = ReadPrivateKey(pem); key) return key;
  if (auto certificate = ReadCertificate(pem); certificate)
    return KeyPtr(X509_get_pubkey(certificate->get()));
  return Unexpected(BadRequest("no public key, private key or certificate in the PEM text"));
}

std::string Fingerprint(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  std::string hex;
  if (size > 0) hex = HexEncode(Sha256({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  return hex;
}

Result<std::string> WritePrivateKey(EVP_PKEY* key) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  // "EC PRIVATE KEY", "RSA PRIVATE KEY": what kubeadm and kube-apiserver write. Some clients (fabric8) take
  // an EC key in no other form.
  if (!PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr))
    return Unexpected(OpenSslError("writing private key"));
  return BioText(bio.get());
}

Result<KeyPtr> NewEcKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return Unexpected(OpenSslError("making key"));
  return key;
}

std::vector<std::string> SubjectValues(X509_NAME* subject, int nid) {
  std::vector<std::string> values;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  return values;
}

}  // namespace flyball::net
