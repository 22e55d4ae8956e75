// Certificates: a certificate authority, what it issues, and reading them back.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {

namespace {

// Machines' clocks differ: a certificate is already valid a little before it was made (as upstream's signer
// does).
constexpr Duration kBackdate = std::chrono::minutes(5);

using NamePtr = std::unique_ptr<X509_NAME, OpenSslFree<X509_NAME_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpenSslFree<X509_EXTENSION_free>>;

std::time_t Seconds(TimePoint t) {
  return std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(t));
}

bool SetSerial(X509* certificate) {
  std::string bytes = RandomBytes(16);
  bytes[0] = static_cast<char>((bytes[0] & 0x7f) | 0x40);  // positive, and of full length
  std::unique_ptr<BIGNUM, OpenSslFree<BN_free>> number(BN_bin2bn(
      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool AddToName(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

NamePtr SubjectName(const std::string& common_name, const std::vector<std::string>& organizations) {
  NamePtr name(X509_NAME_new());
  for (const auto& organization : organizations)
    if (!AddToName(name.get(), "O", organization)) return nullptr;
  if (!common_name.empty() && !AddToName(name.get(), "CN", common_name)) return nullptr;
  return name;
}

// `value` is in the notation of openssl.cnf and made from constants only: names never pass through it.
bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool AddDnsName(GENERAL_NAMES* names, const std::string& dns) {
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (!text || !name || !ASN1_STRING_set(text, dns.data(), static_cast<int>(dns.size()))) return false;
  GENERAL_NAME_set0_value(name, GEN_DNS, text);
  return sk_GENERAL_NAME_push(names, name) > 0;
}

bool AddIpAddress(GENERAL_NAMES* names, const std::string& ip) {
  ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(ip.c_str());
  if (!bytes) return false;
  GENERAL_NAME* name = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(name, GEN_IPADD, bytes);
  return sk_GENERAL_NAME_push(names, name) > 0;
}

Status AddAlternativeNames(X509* certificate, const std::vector<std::string>& dns_names,
                           const std::vector<std::string>& ip_addresses) {
  if (dns_names.empty() && ip_addresses.empty()) return {};
  GeneralNamesPtr names(sk_GENERAL_NAME_new_null());
  for (const auto& dns : dns_names)
    if (!AddDnsName(names.get(), dns)) return Unexpected(OpenSslError("adding DNS name " + dns));
  for (const auto& ip : ip_addresses)
    if (!AddIpAddress(names.get(), ip)) return Unexpected(BadRequest("not an IP address: " + ip));
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1)
    return Unexpected(OpenSslError("adding alternative names"));
  return {};
}

struct Template {
  X509_NAME* subject;
  EVP_PKEY* key;
  TimePoint now;
  Duration validity;
};

// Everything but extensions and signature. `issuer` null: self-signed.
Result<X509Ptr> NewCertificate(const Template& t, X509* issuer) {
  X509Ptr certificate(X509_new());
  const bool ok =
      certificate && X509_set_version(certificate.get(), X509_VERSION_3) && SetSerial(certificate.get()) &&
      X509_set_subject_name(certificate.get(), t.subject) &&
      X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : t.subject) &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), Seconds(t.now - kBackdate)) &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), Seconds(t.now + t.validity)) &&
      X509_set_pubkey(certificate.get(), t.key);
  if (!ok) return Unexpected(OpenSslError("making certificate"));
  return certificate;
}

bool AddLeafExtensions(X509* certificate, X509* issuer, bool server, bool client) {
  const char* usage = server && client ? "serverAuth,clientAuth" : server ? "serverAuth" : "clientAuth";
  return AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
         (!(server || client) || AddExtension(certificate, issuer, NID_ext_key_usage, usage)) &&
         AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid");
}

Result<std::string> SignAndWrite(X509* certificate, EVP_PKEY* key) {
  if (!X509_sign(certificate, key, EVP_sha256())) return Unexpected(OpenSslError("signing certificate"));
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(bio.get(), certificate)) return Unexpected(OpenSslError("writing certificate"));
  return BioText(bio.get());
}

TimePoint FromAsn1(const ASN1_TIME* time) {
  std::tm parts{};
  if (!ASN1_TIME_to_tm(time, &parts)) return {};
  return TimePoint(std::chrono::seconds(timegm(&parts)));
}

void ReadAlternativeNames(const GENERAL_NAMES* names, CertificateInfo& info) {
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* text = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const std::string bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                            static_cast<std::size_t>(ASN1_STRING_length(text)));
    char buffer[INET6_ADDRSTRLEN];
    if (name->type == GEN_DNS)
      info.dns_names.push_back(bytes);
    else if (inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), buffer, sizeof buffer))
      info.ip_addresses.emplace_back(buffer);
  }
}

// The alternative names a signing request asks for go into the certificate as they are.
bool CopyAlternativeNames(X509_REQ* request, X509* certificate) {
  STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(request);
  bool ok = true;
  if (const int at = X509v3_get_ext_by_NID(extensions, NID_subject_alt_name, -1); at >= 0)
    ok = X509_add_ext(certificate, X509v3_get_ext(extensions, at), -1) == 1;
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  return ok;
}

}  // namespace

Result<KeyPair> MakeCertificateAuthority(const std::string& common_name, TimePoint now, Duration validity) {
  FLYBALL_ASSIGN(const KeyPtr key, NewEcKey());
  const NamePtr subject = SubjectName(common_name, {});
  if (!subject) return Unexpected(OpenSslError("making subject"));
  FLYBALL_ASSIGN(const X509Ptr certificate,
                 NewCertificate({subject.get(), key.get(), now, validity}, nullptr));
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
                 NewCertificate({subject.get(), key.get(), now, validity}, issuer.get()));
  if (!AddLeafExtensions(certificate.get(), issuer.get(), request.server, request.client))
    return Unexpected(OpenSslError("adding extensions"));
  FLYBALL_TRY(AddAlternativeNames(certificate.get(), request.dns_names, request.ip_addresses));
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
  info.not_before = FromAsn1(X509_get0_notBefore(certificate.get()));
  info.not_after = FromAsn1(X509_get0_notAfter(certificate.get()));
  const GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (names) ReadAlternativeNames(names.get(), info);
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

Result<std::vector<std::string>> RequestedOrganizations(std::string_view csr_pem) {
  const X509ReqPtr request(PEM_read_bio_X509_REQ(ReadBio(csr_pem).get(), nullptr, nullptr, nullptr));
  if (!request) return Unexpected(BadRequest(OpenSslError("reading certificate request").message()));
  return SubjectValues(X509_REQ_get_subject_name(request.get()), NID_organizationName);
}

Result<std::string> SignCertificateRequest(const KeyPair& authority, std::string_view csr_pem, bool server,
                                           bool client, TimePoint now, Duration validity) {
  FLYBALL_ASSIGN(const X509Ptr issuer, ReadCertificate(authority.certificate_pem));
  FLYBALL_ASSIGN(const KeyPtr issuer_key, ReadPrivateKey(authority.private_key_pem));
  const X509ReqPtr request(PEM_read_bio_X509_REQ(ReadBio(csr_pem).get(), nullptr, nullptr, nullptr));
  if (!request) return Unexpected(BadRequest(OpenSslError("reading certificate request").message()));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (!key || X509_REQ_verify(request.get(), key) != 1)
    return Unexpected(
        BadRequest(OpenSslError("the certificate request's signature does not match").message()));
  FLYBALL_ASSIGN(
      const X509Ptr certificate,
      NewCertificate({X509_REQ_get_subject_name(request.get()), key, now, validity}, issuer.get()));
  if (!AddLeafExtensions(certificate.get(), issuer.get(), server, client) ||
      !CopyAlternativeNames(request.get(), certificate.get()))
    return Unexpected(OpenSslError("adding extensions"));
  return SignAndWrite(certificate.get(), issuer_key.get());
}

}  // namespace flyball::net
