#include "net/tls/certificate_builder.h"

#include <arpa/inet.h>
#include <openssl/pem.h>

namespace flyball::net {
namespace {

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

std::string StringBytes(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// As text; what is no address stands as it is, in hex, so that nobody mistakes it for one.
std::string AddressText(const std::string& bytes) {
  char buffer[INET6_ADDRSTRLEN];
  const bool sized = bytes.size() == 4 || bytes.size() == 16;
  if (sized && inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), buffer, sizeof buffer))
    return buffer;
  return HexEncode(bytes);
}

}  // namespace

std::time_t UnixSeconds(TimePoint t) {
  return std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(t));
}

NamePtr SubjectName(const std::string& common_name, const std::vector<std::string>& organizations) {
  NamePtr name(X509_NAME_new());
  for (const auto& organization : organizations)
    if (!AddToName(name.get(), "O", organization)) return nullptr;
  if (!common_name.empty() && !AddToName(name.get(), "CN", common_name)) return nullptr;
  return name;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Result<X509Ptr> NewCertificate(const CertificateTemplate& t, X509* issuer) {
  X509Ptr certificate(X509_new());
  const bool ok =
      certificate && X509_set_version(certificate.get(), X509_VERSION_3) && SetSerial(certificate.get()) &&
      X509_set_subject_name(certificate.get(), t.subject) &&
      X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : t.subject) &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), UnixSeconds(t.not_before)) &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), UnixSeconds(t.not_after)) &&
      X509_set_pubkey(certificate.get(), t.key);
  if (!ok) return Unexpected(OpenSslError("making certificate"));
  return certificate;
}

Result<std::string> SignAndWrite(X509* certificate, EVP_PKEY* key) {
  if (!X509_sign(certificate, key, EVP_sha256())) return Unexpected(OpenSslError("signing certificate"));
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (!PEM_write_bio_X509(bio.get(), certificate)) return Unexpected(OpenSslError("writing certificate"));
  return BioText(bio.get());
}

Result<GeneralNamesPtr> MakeAlternativeNames(const std::vector<std::string>& dns_names,
                                             const std::vector<std::string>& ip_addresses) {
  GeneralNamesPtr names(sk_GENERAL_NAME_new_null());
  for (const auto& dns : dns_names)
    if (!AddDnsName(names.get(), dns)) return Unexpected(OpenSslError("adding DNS name " + dns));
  for (const auto& ip : ip_addresses)
    if (!AddIpAddress(names.get(), ip)) return Unexpected(BadRequest("not an IP address: " + ip));
  return names;
}

AlternativeNames ReadAlternativeNames(const GENERAL_NAMES* names) {
  AlternativeNames out;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    switch (name->type) {
      case GEN_DNS:
        out.dns_names.push_back(StringBytes(name->d.dNSName));
        break;
      case GEN_IPADD:
        out.ip_addresses.push_back(AddressText(StringBytes(name->d.iPAddress)));
        break;
      case GEN_EMAIL:
        out.email_addresses.push_back(StringBytes(name->d.rfc822Name));
        break;
      case GEN_URI:
        out.uris.push_back(StringBytes(name->d.uniformResourceIdentifier));
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace flyball::net
