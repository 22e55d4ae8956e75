// Owning pointers for OpenSSL's objects, and its error queue as text. Private to this module.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::net {

template <auto Free>
struct OpenSslFree {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};

using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using X509ReqPtr = std::unique_ptr<X509_REQ, OpenSslFree<X509_REQ_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, OpenSslFree<EVP_MD_CTX_free>>;

// "doing: reason" from the newest entry of this thread's OpenSSL error queue, which is emptied.
Error OpenSslError(std::string_view doing);

// A BIO that reads the text, which must outlive it.
BioPtr ReadBio(std::string_view text);
std::string BioText(BIO* bio);

Result<X509Ptr> ReadCertificate(std::string_view pem);
Result<KeyPtr> ReadPrivateKey(std::string_view pem);
// A public key: from its own PEM block, from a private key, or from a certificate.
Result<KeyPtr> ReadPublicKey(std::string_view pem);
Result<std::string> WritePrivateKey(EVP_PKEY* key);
Result<KeyPtr> NewEcKey();

// The time as a TimePoint. Times that a TimePoint cannot hold (before 1677, after 2262) become the first or
// the last that it can; text that is no time becomes the epoch.
TimePoint TimeOf(const ASN1_TIME* time);

// SHA-256 of the DER form, in hex.
std::string Fingerprint(X509* certificate);

// The values of one attribute (an NID) of a certificate's subject.
std::vector<std::string> SubjectValues(X509_NAME* subject, int nid);
inline std::vector<std::string> SubjectValues(X509* certificate, int nid) {
  return SubjectValues(X509_get_subject_name(certificate), nid);
}

}  // namespace flyball::net
