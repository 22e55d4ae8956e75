#include "node/volumes/trust_bundles.h"

#include <set>
#include <vector>

#include "api/rules/certificate_reader.h"
#include "api/select/selector.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

DynamicClient BundlesOf(const Client& client) {
  return client.Dynamic({.group = "certificates.k8s.io",
                         .version = "v1",
                         .kind = "ClusterTrustBundle",
                         .plural = "clustertrustbundles",
                         .namespaced = false});
}

std::string BundleText(const json::Value& bundle) {
  return std::string(bundle["spec"]["trustBundle"].string_or(""));
}

std::string CertificateBlock(const std::string& der) {
  constexpr std::size_t kLine = 64;
  const std::string encoded = net::Base64Encode(der);
  std::string block = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t i = 0; i < encoded.size(); i += kLine) block += encoded.substr(i, kLine) + "\n";
  return block + "-----END CERTIFICATE-----\n";
}

// Each once, in an order that does not depend on that of the bundles.
std::string Merge(const std::vector<std::string>& bundles) {
  std::set<std::string> anchors;
  for (const std::string& bundle : bundles)
    for (api::PemBlock& block : api::ReadPem(bundle)) anchors.insert(std::move(block.der));
  std::string text;
  for (const std::string& der : anchors) text += CertificateBlock(der);
  return text;
}

Result<std::string> ByName(const Client& client, const std::string& name, bool optional) {
  const auto bundle = BundlesOf(client).Get("", name);
  if (bundle) return Merge({BundleText(*bundle)});
  if (optional && bundle.error().Is(Reason::kNotFound)) return std::string();
  return Unexpected(bundle.error().Annotate("while getting ClusterTrustBundle"));
}

Result<std::string> BySigner(const Client& client, const ClusterTrustBundleProjection& projection,
                             bool optional) {
  std::vector<std::string> bundles;
  // As upstream: no selector matches nothing, an empty one everything.
  if (projection.label_selector) {
    FLYBALL_ASSIGN(const auto selector, api::LabelSelector::FromObject(ToJson(*projection.label_selector)));
    FLYBALL_ASSIGN(const auto all, BundlesOf(client).List(
                                       "", {.label_selector = selector.ToString(),
                                            .field_selector = "spec.signerName=" + *projection.signer_name}));
    for (const json::Value& bundle : all.items) bundles.push_back(BundleText(bundle));
  }
  if (bundles.empty() && !optional)
    return Unexpected(Error(Reason::kNotFound,
                            "combination of signerName and labelSelector matched zero ClusterTrustBundles"));
  return Merge(bundles);
}

}  // namespace

Result<std::string> TrustAnchorsOf(const Client& client, const ClusterTrustBundleProjection& projection) {
  const bool optional = projection.optional.value_or(false);
  if (projection.name) return ByName(client, *projection.name, optional);
  if (projection.signer_name) return BySigner(client, projection, optional);
  return Unexpected(BadRequest("ClusterTrustBundle projection requires either name or signerName to be set"));
}

std::string CleanCertificates(const std::string& pem) {
  std::string text;
  for (const api::PemBlock& block : api::ReadPem(pem)) text += CertificateBlock(block.der);
  return text;
}

}  // namespace flyball::node
