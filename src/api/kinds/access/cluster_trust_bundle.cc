#include <map>
#include <string>
#include <vector>

#include "api/kinds/shared/certificates.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/certificate_reader.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxTrustBundle = 1024 * 1024;
constexpr std::string_view kOmitted = "<value omitted>";

// A bundle of a signer is named after it.
void CheckBundleName(std::string_view name, std::string_view signer, FieldErrors& errors) {
  const FieldPath path("metadata.name");
  if (!name.empty()) AddProblems(TrustBundleNameProblems(name, signer), path, name, errors);
}

// What is wrong with one entry; empty if nothing is.
std::string EntryProblem(const PemBlock& block) {
  if (block.type != "CERTIFICATE") return "has bad block type: " + block.type;
  if (block.headers) return "has PEM block headers";
  const CertificateReader* reader = GetCertificateReader();
  if (reader == nullptr) return "";
  const auto certificate = reader->Certificate(block.der);
  if (!certificate) return "does not parse as X.509";
  return certificate->is_ca ? "" : "does not have the CA bit set";
}

std::string IndexList(const std::vector<std::size_t>& indices) {
  std::string text;
  for (const std::size_t i : indices) text += (text.empty() ? "" : " ") + std::to_string(i);
  return "[" + text + "]";
}

void CheckTrustBundle(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.size() > kMaxTrustBundle) return errors.TooLong(path, kMaxTrustBundle);
  std::map<std::string, std::vector<std::size_t>> entries;
  bool malformed = false;
  const auto blocks = ReadPem(text);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string problem = EntryProblem(blocks[i]);
    if (problem.empty()) {
      entries[blocks[i].der].push_back(i);
    } else {
      malformed = true;
      errors.Invalid(path, kOmitted, "entry " + std::to_string(i) + " " + problem);
    }
  }
  if (malformed) return;
  if (entries.empty()) errors.Invalid(path, kOmitted, "at least one trust anchor must be provided");
  for (const auto& [der, indices] : entries)
    if (indices.size() > 1)
      errors.Invalid(path, kOmitted, "duplicate trust anchor (indices " + IndexList(indices) + ")");
}

void CheckTrustBundleObject(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const std::string_view signer = Text(spec, "signerName");
  CheckBundleName(Text(object["metadata"], "name"), signer, errors);
  if (!signer.empty()) ValidateSigner(signer, path.Child("signerName"), errors);
  if (!old.is_object() || spec["trustBundle"] != old["spec"]["trustBundle"])
    CheckTrustBundle(Text(spec, "trustBundle"), path.Child("trustBundle"), errors);
  if (old.is_object())
    ValidateUnchanged(spec["signerName"], old["spec"]["signerName"], path.Child("signerName"), errors);
}

void ValidateClusterTrustBundle(const Value& object, FieldErrors& errors) {
  CheckTrustBundleObject(object, Value(), errors);
}

}  // namespace

const KindHooks kClusterTrustBundleHooks = {
    .group = "certificates.k8s.io",
    .kind = "ClusterTrustBundle",
    .validate = ValidateClusterTrustBundle,
    .validate_update = CheckTrustBundleObject,
    .name_format = "path-segment",
    .validate_update_alone = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
