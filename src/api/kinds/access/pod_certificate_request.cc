#include <string>

#include "api/kinds/shared/certificates.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/certificate_reader.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "api/values/base64.h"

namespace flyball::api {
namespace {

using json::Value;
using Key = CertificateRequestFacts::Key;

constexpr std::size_t kMaxUid = 128, kMaxStubRequest = 10 * 1024, kMaxCertificateChain = 100 * 1024;
constexpr std::int64_t kShortestLife = 3600, kLongestLife = 7862400, kLongestKubernetesLife = 86400;

void CheckUid(const Value& spec, const char* field, const FieldPath& path, FieldErrors& errors) {
  const std::string_view uid = Text(spec, field);
  if (uid.empty()) errors.Invalid(path.Child(field), uid, "must not be empty");
  if (uid.size() > kMaxUid) errors.TooLong(path.Child(field), kMaxUid);
}

void CheckLife(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t seconds = Number(spec, "maxExpirationSeconds");
  const std::string_view signer = Text(spec, "signerName");
  const bool kubernetes =
      signer.starts_with("kubernetes.io/") || signer.substr(0, signer.find('/')).ends_with(".kubernetes.io");
  const std::int64_t longest = kubernetes ? kLongestKubernetesLife : kLongestLife;
  if (seconds < kShortestLife || seconds > longest)
    errors.Invalid(
        path, seconds,
        "must be in the range [" + std::to_string(kShortestLife) + ", " + std::to_string(longest) + "]");
}

void CheckKey(const CertificateRequestFacts& request, const FieldPath& path, FieldErrors& errors) {
  switch (request.key) {
    case Key::kEd25519:
      return;
    case Key::kEcdsa:
      if (request.curve != "P-256" && request.curve != "P-384" && request.curve != "P-521")
        errors.Invalid(path, "curve " + request.curve,
                       "elliptic public keys must use curve P256, P384, or P521");
      return;
    case Key::kRsa:
      if (request.bits != 3072 && request.bits != 4096)
        errors.Invalid(path, std::to_string(request.bits) + "-bit modulus",
                       "RSA keys must have modulus size 3072 or 4096");
      return;
    case Key::kOther:
      errors.InvalidOmitted(path, "unknown public key type; supported types are Ed25519, ECDSA, and RSA");
  }
}

void CheckStubRequest(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::string der;
  std::size_t bad = 0;
  DecodeBase64(Text(spec, "stubPKCS10Request"), der, bad);
  const FieldPath here = path.Child("stubPKCS10Request");
  if (der.empty())
    return errors.InvalidOmitted(
        path, "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set");
  if (der.size() > kMaxStubRequest) return errors.TooLong(here, kMaxStubRequest);
  const CertificateReader* reader = GetCertificateReader();
  if (reader == nullptr) return;
  const auto request = reader->Request(der);
  if (!request) return errors.InvalidOmitted(here, "must be a valid PKCS#10 CSR");
  FieldErrors key;
  CheckKey(*request, here, key);
  if (key.empty() && !request->signature_valid) key.InvalidOmitted(here, "invalid signature");
  errors.Append(std::move(key));
}

void ValidatePodCertificateRequest(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateSigner(Text(spec, "signerName"), path.Child("signerName"), errors);
  ValidateUserAnnotations(spec["unverifiedUserAnnotations"], path.Child("unverifiedUserAnnotations"), errors);
  CheckFormat("dns-subdomain", Text(spec, "podName"), path.Child("podName"), errors);
  CheckUid(spec, "podUID", path, errors);
  CheckFormat("dns-subdomain", Text(spec, "serviceAccountName"), path.Child("serviceAccountName"), errors);
  CheckUid(spec, "serviceAccountUID", path, errors);
  CheckFormat("dns-subdomain", Text(spec, "nodeName"), path.Child("nodeName"), errors);
  CheckUid(spec, "nodeUID", path, errors);
  if (!Has(spec, "maxExpirationSeconds"))
    return errors.Required(path.Child("maxExpirationSeconds"), "must be set");
  CheckLife(spec, path.Child("maxExpirationSeconds"), errors);
  CheckStubRequest(spec, path, errors);
}

void ValidatePodCertificateRequestUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"], old["spec"], FieldPath("spec"), errors);
}

bool HasOutcome(const Value& status, std::string_view type) {
  for (const Value& condition : Items(status["conditions"]))
    if (Text(condition, "type") == type && Text(condition, "status") == "True") return true;
  return false;
}

bool IsFinal(const Value& status) {
  return HasOutcome(status, "Issued") || HasOutcome(status, "Denied") || HasOutcome(status, "Failed");
}

void CheckOutcomes(const Value& conditions, const FieldPath& list, FieldErrors& errors) {
  int outcomes = 0;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.as_array()[i];
    const std::string_view type = Text(condition, "type");
    // Upstream writes the index as one more name.
    const FieldPath path = list.Child("[" + std::to_string(i) + "]");
    if (type != "Issued" && type != "Denied" && type != "Failed") {
      errors.NotSupported(path.Child("type"), type, {"Issued", "Denied", "Failed"});
      continue;
    }
    if (++outcomes > 1)
      errors.Invalid(path.Child("type"), type,
                     "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"");
    CheckOneOf(Text(condition, "status"), {"True"}, path.Child("status"), errors);
  }
}

// The leaf certificate must be for the key that was asked for.
void CheckIssued(const Value& object, const FieldPath& path, FieldErrors& errors) {
  const Value& status = object["status"];
  const FieldPath chain = path.Child("certificateChain");
  const std::string_view text = Text(status, "certificateChain");
  if (text.size() > kMaxCertificateChain) return errors.TooLong(chain, kMaxCertificateChain);
  const auto blocks = ReadPem(text);
  if (blocks.empty())
    return errors.Invalid(chain, text, "issued certificate chain must contain at least one certificate");
  for (const PemBlock& block : blocks)
    if (block.type != "CERTIFICATE")
      return errors.Invalid(chain, text,
                            "issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
  if (const CertificateReader* reader = GetCertificateReader()) {
    const auto leaf = reader->Certificate(blocks.front().der);
    if (!leaf) return errors.Invalid(chain, text, "leaf certificate does not parse as valid X.509");
    std::string request_der;
    std::size_t bad = 0;
    DecodeBase64(Text(object["spec"], "stubPKCS10Request"), request_der, bad);
    const auto request = reader->Request(request_der);
    if (request && request->public_key != leaf->public_key)
      return errors.Invalid(chain, text, "leaf certificate was not issued to the requested public key");
  }
  for (const char* field : {"notBefore", "notAfter"})
    if (!Has(status, field))
      errors.Required(path.Child(field), "must be present and consistent with the issued certificate");
  if (!Has(status, "beginRefreshAt"))
    errors.Required(path.Child("beginRefreshAt"),
                    "must be present and in the range [notbefore+10min, notafter-10min]");
}

void ValidatePodCertificateRequestStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  const Value& status = object["status"];
  FieldErrors outcomes;
  CheckOutcomes(status["conditions"], path.Child("conditions"), outcomes);
  if (!outcomes.empty()) return errors.Append(std::move(outcomes));
  if (IsFinal(old["status"])) {
    if (status != old["status"])
      errors.InvalidOmitted(path, "immutable after PodCertificateRequest is issued, denied, or failed");
    return;
  }
  if (HasOutcome(status, "Issued")) return CheckIssued(object, path, errors);
  if (IsFinal(status)) {
    for (const auto& [field, value] : Entries(status))
      if (field != "conditions")
        return errors.InvalidOmitted(
            path,
            "non-condition status fields must be empty when denying or failing the PodCertificateRequest");
    return;
  }
  if (status != old["status"])
    errors.InvalidOmitted(
        path, "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"");
}

}  // namespace

const KindHooks kPodCertificateRequestHooks = {
    .group = "certificates.k8s.io",
    .kind = "PodCertificateRequest",
    .validate = ValidatePodCertificateRequest,
    .validate_update = ValidatePodCertificateRequestUpdate,
    .validate_status_update = ValidatePodCertificateRequestStatusUpdate,
    .validate_update_alone = true,
    .status_keeps_metadata = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
