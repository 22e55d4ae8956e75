// The steps of making and reading a certificate that issuing (pki_certificates.cc) and signing requests
// (pki_requests.cc) share. Private to this module.
#pragma once

#include <openssl/x509v3.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {

using NamePtr = std::unique_ptr<X509_NAME, OpenSslFree<X509_NAME_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpenSslFree<X509_EXTENSION_free>>;

std::time_t UnixSeconds(TimePoint t);

// Null if a value cannot be part of a name.
NamePtr SubjectName(const std::string& common_name, const std::vector<std::string>& organizations);

// `value` is in the notation of openssl.cnf and made from constants only: names never pass through it.
bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value);

struct CertificateTemplate {
  X509_NAME* subject;
  EVP_PKEY* key;
  TimePoint not_before, not_after;
};
// Everything but extensions and signature. `issuer` null: self-signed.
Result<X509Ptr> NewCertificate(const CertificateTemplate& t, X509* issuer);
// As PEM.
Result<std::string> SignAndWrite(X509* certificate, EVP_PKEY* key);

// Names as the subjectAltName extension holds them. BadRequest if one of `ip_addresses` is none.
Result<GeneralNamesPtr> MakeAlternativeNames(const std::vector<std::string>& dns_names,
                                             const std::vector<std::string>& ip_addresses);
struct AlternativeNames {
  std::vector<std::string> dns_names, ip_addresses, email_addresses, uris;
};
AlternativeNames ReadAlternativeNames(const GENERAL_NAMES* names);

}  // namespace flyball::net
