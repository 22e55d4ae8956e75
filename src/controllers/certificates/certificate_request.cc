#include "controllers/certificates/certificate_request.h"

#include <algorithm>
#include <array>
#include <set>

namespace flyball::controllers {
namespace {

using Usages = std::set<std::string_view>;

struct UsageName {
  std::string_view kubernetes, openssl;
  bool extended;
};
// In the order a certificate lists them.
constexpr std::array kUsageNames = {
    UsageName{"signing", "digitalSignature", false},
    UsageName{"digital signature", "digitalSignature", false},
    UsageName{"content commitment", "nonRepudiation", false},
    UsageName{"key encipherment", "keyEncipherment", false},
    UsageName{"key agreement", "keyAgreement", false},
    UsageName{"data encipherment", "dataEncipherment", false},
    UsageName{"cert sign", "keyCertSign", false},
    UsageName{"crl sign", "cRLSign", false},
    UsageName{"encipher only", "encipherOnly", false},
    UsageName{"decipher only", "decipherOnly", false},
    UsageName{"any", "anyExtendedKeyUsage", true},
    UsageName{"server auth", "serverAuth", true},
    UsageName{"client auth", "clientAuth", true},
    UsageName{"code signing", "codeSigning", true},
    UsageName{"email protection", "emailProtection", true},
    UsageName{"s/mime", "emailProtection", true},
    UsageName{"ipsec end system", "ipsecEndSystem", true},
    UsageName{"ipsec tunnel", "ipsecTunnel", true},
    UsageName{"ipsec user", "ipsecUser", true},
    UsageName{"timestamping", "timeStamping", true},
    UsageName{"ocsp signing", "OCSPSigning", true},
    UsageName{"microsoft sgc", "msSGC", true},
    UsageName{"netscape sgc", "nsSGC", true},
};

// Keys that are not RSA have no use for key encipherment, so it may be omitted.
bool AreUsagesFor(std::string_view purpose, const Usages& usages) {
  return usages == Usages{"digital signature", "key encipherment", purpose} ||
         usages == Usages{"digital signature", purpose};
}

std::string UsagesMismatch(std::string_view purpose) {
  // Upstream prints the list sorted.
  return purpose == "client auth" ? "usages did not match [client auth digital signature key encipherment]"
                                  : "usages did not match [digital signature key encipherment server auth]";
}

bool IsOfNodes(const net::CertificateRequestInfo& request) {
  return request.organizations == std::vector<std::string>{"system:nodes"};
}

constexpr char kNotOfNodes[] = "subject organization is not system:nodes";
constexpr char kNoNodeName[] = "subject common name does not begin with system:node:";
constexpr std::string_view kNodeUser = "system:node:";

std::string KubeletServingProblem(const net::CertificateRequestInfo& request, const Usages& usages) {
  if (!IsOfNodes(request)) return kNotOfNodes;
  if (request.dns_names.empty() && request.ip_addresses.empty())
    return "DNS or IP subjectAltName is required";
  if (!request.email_addresses.empty()) return "Email subjectAltNames are not allowed";
  if (!request.uris.empty()) return "URI subjectAltNames are not allowed";
  if (!AreUsagesFor("server auth", usages)) return UsagesMismatch("server auth");
  return request.common_name.starts_with(kNodeUser) ? "" : kNoNodeName;
}

std::string KubeletClientProblem(const net::CertificateRequestInfo& request, const Usages& usages) {
  if (!IsOfNodes(request)) return kNotOfNodes;
  if (!request.dns_names.empty()) return "DNS subjectAltNames are not allowed";
  if (!request.email_addresses.empty()) return "Email subjectAltNames are not allowed";
  if (!request.ip_addresses.empty()) return "IP subjectAltNames are not allowed";
  if (!request.uris.empty()) return "URI subjectAltNames are not allowed";
  if (!request.common_name.starts_with(kNodeUser)) return kNoNodeName;
  return AreUsagesFor("client auth", usages) ? "" : UsagesMismatch("client auth");
}

std::string ApiServerClientProblem(const std::vector<std::string>& usages) {
  bool client = false;
  for (const auto& usage : usages) {
    if (usage == "client auth")
      client = true;
    else if (usage != "digital signature" && usage != "key encipherment")
      return "invalid usage for client certificate: " + usage;
  }
  return client ? "" : "missing required usage for client certificate: client auth";
}

void AddOnce(std::vector<std::string>& list, std::string_view item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.emplace_back(item);
}

}  // namespace

bool HasCondition(const CertificateSigningRequest& csr, std::string_view type) {
  const auto& conditions = csr.status.conditions;
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& c) { return c.type == type; });
}

bool IsApproved(const CertificateSigningRequest& csr) {
  return HasCondition(csr, "Approved") && !HasCondition(csr, "Denied");
}

bool HasTrueCondition(const CertificateSigningRequest& csr, std::string_view type) {
  const auto& conditions = csr.status.conditions;
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& c) {
    return c.type == type && (c.status.empty() || c.status == "True");
  });
}

std::string SignerProblem(std::string_view signer, const net::CertificateRequestInfo& request,
                          const std::vector<std::string>& usages) {
  const Usages set(usages.begin(), usages.end());
  if (signer == kKubeletServingSigner) return KubeletServingProblem(request, set);
  if (signer == kKubeletClientSigner) return KubeletClientProblem(request, set);
  if (signer == kApiServerClientSigner) return ApiServerClientProblem(usages);
  // Everything is allowed, as before signers had names.
  if (signer == kLegacyUnknownSigner) return "";
  return "unrecognized signerName: \"" + std::string(signer) + "\"";
}

Result<CertificateUsages> ParseUsages(const std::vector<std::string>& usages) {
  for (const auto& usage : usages)
    if (std::none_of(kUsageNames.begin(), kUsageNames.end(),
                     [&](const UsageName& row) { return row.kubernetes == usage; }))
      return Unexpected(BadRequest("unrecognized usage values: [\"" + usage + "\"]"));
  CertificateUsages out;
  for (const UsageName& row : kUsageNames)
    if (std::find(usages.begin(), usages.end(), row.kubernetes) != usages.end())
      AddOnce(row.extended ? out.extended_key_usages : out.key_usages, row.openssl);
  return out;
}

}  // namespace flyball::controllers
