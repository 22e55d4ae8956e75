// Certificate signing requests: making them, reading them, and signing what they ask for.
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "net/tls/certificate_builder.h"

namespace flyball::net {
namespace {

constexpr std::array<std::string_view, 9> kKeyUsages = {
    "digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment", "keyAgreement",
    "keyCertSign",      "cRLSign",        "encipherOnly",    "decipherOnly"};
constexpr std::array<std::string_view, 12> kExtendedKeyUsages = {
    "anyExtendedKeyUsage", "serverAuth", "clientAuth",   "codeSigning", "emailProtection", "ipsecEndSystem",
    "ipsecTunnel",         "ipsecUser",  "timeStamping", "OCSPSigning", "msSGC",           "nsSGC"};

// Its signature is checked: who signs a request that is not signed itself would certify a key nobody proved
// to have.
Result<X509ReqPtr> ReadRequest(std::string_view pem) {
  X509ReqPtr request(PEM_read_bio_X509_REQ(ReadBio(pem).get(), nullptr, nullptr, nullptr));
  if (!request) return Unexpected(BadRequest(OpenSslError("reading certificate request").message()));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (!key || X509_REQ_verify(request.get(), key) != 1)
    return Unexpected(
        BadRequest(OpenSslError("the certificate request's signature does not match").message()));
  return request;
}

// Null if it asks for none.
GeneralNamesPtr RequestedNames(X509_REQ* request) {
  STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(request);
  GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr)));
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  ERR_clear_error();
  return names;
}

// Only the kinds of names ParseCertificateRequest shows: what nobody could check is not certified.
bool AddKnownNames(X509_REQ* request, X509* certificate) {
  GeneralNamesPtr names = RequestedNames(request);
  if (!names) return true;
  for (int i = sk_GENERAL_NAME_num(names.get()) - 1; i >= 0; --i) {
    const int type = sk_GENERAL_NAME_value(names.get(), i)->type;
    if (type != GEN_DNS && type != GEN_IPADD && type != GEN_EMAIL && type != GEN_URI)
      GENERAL_NAME_free(sk_GENERAL_NAME_delete(names.get(), i));
  }
  if (sk_GENERAL_NAME_num(names.get()) == 0) return true;
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

template <std::size_t N>
Result<std::string> JoinUsages(const std::vector<std::string>& usages,
                               const std::array<std::string_view, N>& known, std::string text) {
  bool first = text.empty();
  for (const auto& usage : usages) {
    if (std::find(known.begin(), known.end(), usage) == known.end())
      return Unexpected(BadRequest("unknown key usage \"" + usage + "\""));
    text += (first ? "" : ",") + usage;
    first = false;
  }
  return text;
}

Status AddTerms(X509* certificate, X509* issuer, const CertificateTerms& terms) {
  if (!terms.key_usages.empty()) {
    FLYBALL_ASSIGN(const auto text, JoinUsages(terms.key_usages, kKeyUsages, "critical"));
    if (!AddExtension(certificate, issuer, NID_key_usage, text.c_str()))
      return Unexpected(OpenSslError("adding key usage"));
  }
  if (!terms.extended_key_usages.empty()) {
    FLYBALL_ASSIGN(const auto text, JoinUsages(terms.extended_key_usages, kExtendedKeyUsages, ""));
    if (!AddExtension(certificate, issuer, NID_ext_key_usage, text.c_str()))
      return Unexpected(OpenSslError("adding extended key usage"));
  }
  if (!AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE"))
    return Unexpected(OpenSslError("adding basic constraints"));
  // An authority without a key identifier has none to name.
  if (X509_get0_subject_key_id(issuer) != nullptr &&
      !AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid"))
    return Unexpected(OpenSslError("adding authority key identifier"));
  return {};
}

bool AddRequestedNames(X509_REQ* request, GENERAL_NAMES* names) {
  ExtensionPtr extension(X509V3_EXT_i2d(NID_subject_alt_name, 0, names));
  STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
  const bool ok = extension && sk_X509_EXTENSION_push(extensions, extension.get()) > 0 &&
                  X509_REQ_add_extensions(request, extensions) == 1;
  sk_X509_EXTENSION_free(extensions);
  return ok;
}

}  // namespace

Result<CertificateRequestInfo> ParseCertificateRequest(std::string_view csr_pem) {
  FLYBALL_ASSIGN(const X509ReqPtr request, ReadRequest(csr_pem));
  CertificateRequestInfo info;
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  if (auto names = SubjectValues(subject, NID_commonName); !names.empty()) info.common_name = names.back();
  info.organizations = SubjectValues(subject, NID_organizationName);
  if (const GeneralNamesPtr names = RequestedNames(request.get())) {
    AlternativeNames read = ReadAlternativeNames(names.get());
    info.dns_names = std::move(read.dns_names);
    info.ip_addresses = std::move(read.ip_addresses);
    info.email_addresses = std::move(read.email_addresses);
    info.uris = std::move(read.uris);
  }
  return info;
}

Result<PendingCertificate> MakeCertificateRequest(const CertificateRequest& wanted) {
  FLYBALL_ASSIGN(const KeyPtr key, NewEcKey());
  const NamePtr subject = SubjectName(wanted.common_name, wanted.organizations);
  if (!subject) return Unexpected(OpenSslError("making subject"));
  const X509ReqPtr request(X509_REQ_new());
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_subject_name(request.get(), subject.get()) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1)
    return Unexpected(OpenSslError("making certificate request"));
  FLYBALL_ASSIGN(const GeneralNamesPtr names, MakeAlternativeNames(wanted.dns_names, wanted.ip_addresses));
  if (sk_GENERAL_NAME_num(names.get()) > 0 && !AddRequestedNames(request.get(), names.get()))
    return Unexpected(OpenSslError("adding alternative names"));
  if (!X509_REQ_sign(request.get(), key.get(), EVP_sha256()))
    return Unexpected(OpenSslError("signing certificate request"));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509_REQ(bio.get(), request.get()))
    return Unexpected(OpenSslError("writing certificate request"));
  PendingCertificate pending;
  pending.request_pem = BioText(bio.get());
  FLYBALL_ASSIGN(pending.private_key_pem, WritePrivateKey(key.get()));
  return pending;
}

Result<std::string> SignCertificateRequest(const KeyPair& authority, std::string_view csr_pem,
                                           const CertificateTerms& terms) {
  FLYBALL_ASSIGN(const X509Ptr issuer, ReadCertificate(authority.certificate_pem));
  FLYBALL_ASSIGN(const KeyPtr issuer_key, ReadPrivateKey(authority.private_key_pem));
  FLYBALL_ASSIGN(const X509ReqPtr request, ReadRequest(csr_pem));
  FLYBALL_ASSIGN(const X509Ptr certificate,
                 NewCertificate({X509_REQ_get_subject_name(request.get()),
                                 X509_REQ_get0_pubkey(request.get()), terms.not_before, terms.not_after},
                                issuer.get()));
  FLYBALL_TRY(AddTerms(certificate.get(), issuer.get(), terms));
  if (!AddKnownNames(request.get(), certificate.get()))
    return Unexpected(OpenSslError("adding alternative names"));
  return SignAndWrite(certificate.get(), issuer_key.get());
}

}  // namespace flyball::net
