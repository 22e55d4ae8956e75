// Certificates: a certificate authority, what it issues, and reading them back.
#include <openssl/err.h>
#include <openssl/pem.h>

#include "net/tls/certificate_builder.h"

namespace flyball::net {

namespace {

// Machines' clocks differ: a certificate is already valid a little before it was made (as upstream's signer
// does).
constexpr Duration kBackdate = std::chrono::minutes(5);

Status AddAlternativeNames(X509* certificate, const CertificateRequest& request) {
  FLYBALL_ASSIGN(const GeneralNamesPtr names, MakeAlternativeNames(request.dns_names, request.ip_addresses));
  if (sk_GENERAL_NAME_num(names.get()) == 0) return {};
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1)
    return Unexpected(OpenSslError("adding alternative names"));
  return {};
}

bool AddLeafExtensions(X509* certificate, X509* issuer, bool server, bool client) {
  const char* usage = server && client ? "serverAuth,clientAuth" : server ? "serverAuth" : "clientAuth";
  return AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
         (!(server || client) || AddExtension(certificate, issuer, NID_ext_key_usage, usage)) &&
         AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid");
}

}  // namespace

Result<KeyPair> MakeCertificateAuthority(const std::string& common_name, TimePoint now, Duration validity) {
  FLYBALL_ASSIGN(const KeyPtr key, NewEcKey());
  const NamePtr subject = SubjectName(common_name, {});
  if (!subject) return Unexpected(OpenSslError("making subject"));
  FLYBALL_ASSIGN(const X509Ptr certificate,
                 NewCertificate({subject.get(), key.get(), now - kBackdate, now + validity}, nullptr));
  X509* c = certificate.get();
  if (!AddExtension(c, c, NID_key_usage, "critical,digitalSignature,keyEncipherment,keyCertSign") ||
      !AddExtension(c, c, NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(c, c, NID_subject_key_identifier, "hash"))
    return Unexpected(OpenSslError("adding extensions"));
  KeyPair pair;
  FLYBALL_ASSIGN(pair.certificate_pem, SignAndWrite(c, key.get()));
  FLYBALL_ASSIGN(pair.private_key_pem, WritePrivateKey(key.get()));
  return pair;
}

Result<KeyPair> IssueCertificate(const KeyPair& authority, const CertificateRequest& request, TimePoint now,
                                 Duration validity) {
  FLYBALL_ASSIGN(const X509Ptr issuer, ReadCertificate(authority.certificate_pem));
  FLYBALL_ASSIGN(const KeyPtr issuer_key, ReadPrivateKey(authority.private_key_pem));
  FLYBALL_ASSIGN(const KeyPtr key, NewEcKey());
  const NamePtr subject = SubjectName(request.common_name, request.organizations);
  if (!subject) return Unexpected(OpenSslError("making subject"));
  FLYBALL_ASSIGN(const X509Ptr certificate,
                 NewCertificate({subject.get(), key.get(), now - kBackdate, now + validity}, issuer.get()));
  if (!AddLeafExtensions(certificate.get(), issuer.get(), request.server, request.client))
    return Unexpected(OpenSslError("adding extensions"));
  FLYBALL_TRY(AddAlternativeNames(certificate.get(), request));
  KeyPair pair;
  FLYBALL_ASSIGN(pair.certificate_pem, SignAndWrite(certificate.get(), issuer_key.get()));
  FLYBALL_ASSIGN(pair.private_key_pem, WritePrivateKey(key.get()));
  return pair;
}

Result<CertificateInfo> ParseCertificate(std::string_view pem) {
  FLYBALL_ASSIGN(const X509Ptr certificate, ReadCertificate(pem));
  CertificateInfo info;
  if (auto names = SubjectValues(certificate.get(), NID_commonName); !names.empty())
    info.common_name = names.back();
  info.organizations = SubjectValues(certificate.get(), NID_organizationName);
  info.not_before = TimeOf(X509_get0_notBefore(certificate.get()));
  info.not_after = TimeOf(X509_get0_notAfter(certificate.get()));
  const GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (names) {
    AlternativeNames read = ReadAlternativeNames(names.get());
    info.dns_names = std::move(read.dns_names);
    info.ip_addresses = std::move(read.ip_addresses);
  }
  return info;
}

bool IsSignedByAny(std::string_view certificate_pem, std::string_view authorities_pem) {
  const Result<X509Ptr> certificate = ReadCertificate(certificate_pem);
  const BioPtr bio = ReadBio(authorities_pem);
  bool found = false;
  while (X509* raw =
             certificate && !found ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr) {
    const X509Ptr authority(raw);
    found = X509_check_issued(authority.get(), certificate->get()) == X509_V_OK &&
            X509_verify(certificate->get(), X509_get0_pubkey(authority.get())) == 1;
  }
  ERR_clear_error();
  return found;
}

Result<std::string> CertificateFingerprint(std::string_view certificate_pem) {
  FLYBALL_ASSIGN(const X509Ptr certificate, ReadCertificate(certificate_pem));
  return Fingerprint(certificate.get());
}

bool IsKeyOf(std::string_view private_key_pem, std::string_view certificate_pem) {
  const Result<X509Ptr> certificate = ReadCertificate(certificate_pem);
  const Result<KeyPtr> key = ReadPrivateKey(private_key_pem);
  const bool match = certificate && key && X509_check_private_key(certificate->get(), key->get()) == 1;
  ERR_clear_error();
  return match;
}

}  // namespace flyball::net
