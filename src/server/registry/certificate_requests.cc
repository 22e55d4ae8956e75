#include "server/registry/certificate_requests.h"

#include <string>
#include <string_view>

#include "api/values/base64.h"
#include "api/values/time.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr std::string_view kLegacySigner = "kubernetes.io/legacy-unknown";
constexpr std::string_view kPemBegin = "-----BEGIN ";
constexpr std::string_view kCertificateBegin = "-----BEGIN CERTIFICATE-----";

std::string DecodedBytes(const json::Value& value) {
  std::string bytes;
  std::size_t bad = 0;
  api::DecodeBase64(value.string_or(""), bytes, bad);
  return bytes;
}

const json::Array& ConditionsOf(const json::Value& object) {
  static const json::Array kNone;
  const json::Value& conditions = object["status"]["conditions"];
  return conditions.is_array() ? conditions.as_array() : kNone;
}

json::Value TransitionTime(const json::Value& condition, const json::Value& old, const json::Value& now) {
  for (const auto& before : ConditionsOf(old))
    if (before["type"] == condition["type"] && before["status"] == condition["status"] &&
        !before["lastTransitionTime"].is_null())
      return before["lastTransitionTime"];
  return now;
}

// What is wrong with the text of a certificate; "" if nothing is.
std::string CertificateProblem(std::string_view pem) {
  int blocks = 0;
  for (auto at = pem.find(kPemBegin); at != std::string_view::npos; at = pem.find(kPemBegin, at + 1)) {
    const std::string_view block = pem.substr(at);
    if (!block.starts_with(kCertificateBegin)) {
      const std::string_view type =
          block.substr(kPemBegin.size(), block.find("-----", kPemBegin.size()) - kPemBegin.size());
      return "only CERTIFICATE PEM blocks are allowed, found \"" + std::string(type) + "\"";
    }
    if (const auto parsed = net::ParseCertificate(block); !parsed) return parsed.error().message();
    ++blocks;
  }
  return blocks == 0 ? "must contain at least one CERTIFICATE PEM block" : "";
}

}  // namespace

bool IsCertificateRequest(const ServedResource& resource) {
  return resource.kind->kind == "CertificateSigningRequest" && resource.kind->group == "certificates.k8s.io";
}

void SetRequester(const User& user, json::Value& spec) {
  auto& members = spec.as_object();
  for (const auto key : {"username", "uid", "groups", "extra"}) members.Erase(key);
  members.Set("username", user.name);
  if (!user.uid.empty()) members.Set("uid", user.uid);
  if (!user.groups.empty()) members.Set("groups", json::Array(user.groups.begin(), user.groups.end()));
  if (user.extra.empty()) return;
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra.Set(key, json::Array(values.begin(), values.end()));
  members.Set("extra", std::move(extra));
}

void SetConditionTimes(TimePoint now, const json::Value& old, json::Value& object) {
  json::Value* status = object.Find("status");
  json::Value* conditions = status ? status->Find("conditions") : nullptr;
  if (!conditions || !conditions->is_array()) return;
  const json::Value time = api::FormatTime(now);
  for (json::Value& condition : conditions->as_array()) {
    const json::Value& read = condition;
    if (read["lastUpdateTime"].is_null()) condition["lastUpdateTime"] = time;
    if (read["lastTransitionTime"].is_null())
      condition["lastTransitionTime"] = TransitionTime(read, old, time);
  }
}

void ValidateCertificateRequest(const json::Value& object, api::FieldErrors& errors) {
  const api::FieldPath spec("spec");
  const json::Value& request = object["spec"]["request"];
  const std::string pem = DecodedBytes(request);
  // Text that is not PEM at all is refused by the rules of the kind.
  if (pem.find("-----BEGIN CERTIFICATE REQUEST-----") != std::string::npos)
    if (const auto parsed = net::ParseCertificateRequest(pem); !parsed)
      errors.Invalid(spec.Child("request"), request, parsed.error().message());
  if (const json::Value& signer = object["spec"]["signerName"]; signer.string_or("") == kLegacySigner)
    errors.Invalid(spec.Child("signerName"), signer,
                   "the legacy signerName is not allowed via this API version");
}

void ValidateIssuedCertificate(const json::Value& object, const json::Value& old, api::FieldErrors& errors) {
  const json::Value &now = object["status"]["certificate"], &before = old["status"]["certificate"];
  if (now == before) return;
  const api::FieldPath path = api::FieldPath("status").Child("certificate");
  if (const std::string problem = now.is_null() ? "" : CertificateProblem(DecodedBytes(now));
      !problem.empty())
    errors.Invalid(path, "<certificate data>", problem);
  if (!before.string_or("").empty())
    errors.Forbidden(path, "updates may not modify existing certificate content");
}

}  // namespace flyball::server
