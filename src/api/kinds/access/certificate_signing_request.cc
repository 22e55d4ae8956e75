#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/kinds/shared/certificates.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/certificate_reader.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/values/base64.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kMinExpirationSeconds = 600;

// Name, groups and extra are who asked; the server fills them in. Status is the approver's.
void PrepareCertificateSigningRequestForCreate(Value& object) {
  object["status"] = json::Object{};
}

void PrepareCertificateSigningRequestForUpdate(Value& object, const Value& old) {
  object["spec"] = old["spec"];
  if (Has(old, "status")) object["status"] = old["status"];
}

// Instances of one condition type.
std::vector<const Value*> ConditionsOfType(const Value& object, std::string_view type) {
  std::vector<const Value*> found;
  for (const Value& condition : Items(object["status"]["conditions"]))
    if (Text(condition, "type") == type) found.push_back(&condition);
  return found;
}

// The status endpoint does not decide: Approved and Denied stay as they are. If one was added or removed
// they are left as sent, for validation to refuse.
void PrepareCertificateSigningRequestForStatus(Value& object, const Value& old) {
  for (const std::string_view type : {"Approved", "Denied"}) {
    const auto before = ConditionsOfType(old, type);
    if (before.size() != ConditionsOfType(object, type).size()) continue;
    std::size_t next = 0;
    if (before.empty()) continue;
    for (Value& condition : object["status"]["conditions"].as_array())
      if (Text(condition, "type") == type) condition = *before[next++];
  }
}

// The approval endpoint decides and does nothing else.
void PrepareCertificateSigningRequestPart(std::string_view, Value& object, const Value& old) {
  Value conditions = Get(Get(object, "status"), "conditions");
  object["spec"] = old["spec"];
  object["status"] = Has(old, "status") ? old["status"] : Value(json::Object{});
  if (conditions.is_null())
    object["status"].as_object().Erase("conditions");
  else
    object["status"]["conditions"] = std::move(conditions);
}

void ValidateUsages(const Value& usages, const FieldPath& path, FieldErrors& errors) {
  static const std::vector<std::string> kKnown = {"any",
                                                  "cert sign",
                                                  "client auth",
                                                  "code signing",
                                                  "content commitment",
                                                  "crl sign",
                                                  "data encipherment",
                                                  "decipher only",
                                                  "digital signature",
                                                  "email protection",
                                                  "encipher only",
                                                  "ipsec end system",
                                                  "ipsec tunnel",
                                                  "ipsec user",
                                                  "key agreement",
                                                  "key encipherment",
                                                  "microsoft sgc",
                                                  "netscape sgc",
                                                  "ocsp signing",
                                                  "s/mime",
                                                  "server auth",
                                                  "signing",
                                                  "timestamping"};
  if (usages.size() == 0) errors.Required(path);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    const std::string_view usage = usages.as_array()[i].string_or({});
    if (std::find(kKnown.begin(), kKnown.end(), usage) == kKnown.end())
      errors.NotSupported(path.Index(i), usage, kKnown);
    if (!seen.insert(usage).second) errors.Duplicate(path.Index(i), usage);
  }
}

void ValidateRequestCondition(const Value& condition, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(condition, "type"), status = Text(condition, "status");
  if (type.empty()) errors.Required(path.Child("type"));
  const bool decision = type == "Approved" || type == "Denied" || type == "Failed";
  const bool known = status == "True" || (!decision && (status == "False" || status == "Unknown"));
  if (status.empty())
    errors.Required(path.Child("status"));
  else if (!known)
    errors.NotSupported(
        path.Child("status"), status,
        decision ? std::vector<std::string>{"True"} : std::vector<std::string>{"False", "True", "Unknown"});
}

void ValidateRequestConditions(const Value& object, FieldErrors& errors) {
  const FieldPath path = FieldPath("status").Child("conditions");
  bool approved = false, denied = false;
  std::set<std::string_view> types;
  const json::Array& conditions = Items(object["status"]["conditions"]);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    ValidateRequestCondition(conditions[i], path.Index(i), errors);
    const std::string_view type = Text(conditions[i], "type");
    approved = approved || type == "Approved";
    denied = denied || type == "Denied";
    if (!types.insert(type).second) errors.Duplicate(path.Index(i).Child("type"), type);
  }
  if (approved && denied)
    errors.declarative().Invalid(path,
                                 "{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}",
                                 "must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, "
                                 "`conditions[{\"type\": \"Denied\"}]`");
}

// What is wrong with an issued certificate; empty if nothing is.
std::string CertificateProblem(const Value& certificate) {
  std::string pem;
  std::size_t bad = 0;
  DecodeBase64(certificate.string_or({}), pem, bad);
  if (pem.empty()) return "";
  const auto blocks = ReadPem(pem);
  for (const PemBlock& block : blocks) {
    if (block.type != "CERTIFICATE")
      return "only CERTIFICATE PEM blocks are allowed, found \"" + block.type + "\"";
    if (block.headers) return "no PEM block headers are permitted";
    if (const CertificateReader* reader = GetCertificateReader(); reader && !reader->Certificate(block.der))
      return "x509: malformed certificate";
  }
  return blocks.empty() ? "must contain at least one CERTIFICATE PEM block" : "";
}

// The certificate is set once, through the status.
void ValidateIssuedCertificate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status.certificate");
  const Value& certificate = object["status"]["certificate"];
  const Value& before = old["status"]["certificate"];
  if (certificate == before) return;
  if (const std::string problem = CertificateProblem(certificate); !problem.empty())
    errors.Invalid(path, "<certificate data>", problem);
  if (!before.string_or({}).empty())
    errors.Forbidden(path, "updates may not modify existing certificate content");
}

// What was decided is not taken back.
void ValidateKeptConditions(const Value& object, const Value& old, FieldErrors& errors) {
  for (const std::string_view type : {"Approved", "Denied", "Failed"})
    if (ConditionsOfType(object, type).size() < ConditionsOfType(old, type).size())
      errors.Forbidden(FieldPath("status").Child("conditions"),
                       "updates may not remove a condition of type \"" + std::string(type) + "\"");
}

void ValidateCertificateSigningRequestStatus(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateRequestConditions(object, errors);
  ValidateIssuedCertificate(object, old, errors);
  ValidateKeptConditions(object, old, errors);
  for (const std::string_view type : {"Approved", "Denied"})
    if (ConditionsOfType(object, type).size() > ConditionsOfType(old, type).size())
      errors.Forbidden(FieldPath("status").Child("conditions"),
                       "updates may not add a condition of type \"" + std::string(type) + "\"");
}

void ValidateCertificateSigningRequestPart(std::string_view, const Value& object, const Value& old,
                                           FieldErrors& errors) {
  ValidateKeptConditions(object, old, errors);
}

void ValidateCertificateSigningRequest(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  std::string pem;
  std::size_t bad = 0;
  DecodeBase64(Text(spec, "request"), pem, bad);
  if (pem.find("-----BEGIN CERTIFICATE REQUEST-----") == std::string::npos) {
    errors.Invalid(path.Child("request"), spec["request"], "PEM block type must be CERTIFICATE REQUEST");
  }
  ValidateUsages(spec["usages"], path.Child("usages"), errors);
  if (Text(spec, "signerName") == "kubernetes.io/legacy-unknown") {
    errors.Invalid(path.Child("signerName"), spec["signerName"],
                   "the legacy signerName is not allowed via this API version");
  } else {
    ValidateSigner(Text(spec, "signerName"), path.Child("signerName"), errors);
  }
  const Value& seconds = spec["expirationSeconds"];
  if (!seconds.is_null() && seconds.int_or(0) < kMinExpirationSeconds) {
    errors.Invalid(path.Child("expirationSeconds"), seconds,
                   "may not specify a duration less than 600 seconds (10 minutes)");
  }
  ValidateRequestConditions(object, errors);
}

}  // namespace

const KindHooks kCertificateSigningRequestHooks = {
    .group = "certificates.k8s.io",
    .kind = "CertificateSigningRequest",
    .prepare_for_create = PrepareCertificateSigningRequestForCreate,
    .prepare_for_update = PrepareCertificateSigningRequestForUpdate,
    .prepare_for_status_update = PrepareCertificateSigningRequestForStatus,
    .validate = ValidateCertificateSigningRequest,
    .validate_status_update = ValidateCertificateSigningRequestStatus,
    .prepare_for_part_update = PrepareCertificateSigningRequestPart,
    .validate_part_update = ValidateCertificateSigningRequestPart,
    .name_format = "path-segment",
};

}  // namespace flyball::api
