#include "server/admission/webhooks/admission_review.h"

#include <algorithm>
#include <array>
#include <limits>

#include "api/values/go_text.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr std::string_view kGroup = "admission.k8s.io/";

Error NotCalled(const std::string& why) {
  return Error(Reason::kServiceUnavailable, 503, "failed to call webhook: " + why);
}

Error InvalidAnswer(const std::string& why) {
  return Error(Reason::kServiceUnavailable, 503, "received invalid webhook response: " + why);
}

std::string KindText(const json::Value& review) {
  const auto version = review["apiVersion"].string_or("");
  std::string out(version.find('/') == std::string_view::npos ? "/" : "");
  return out.append(version).append(", Kind=").append(review["kind"].string_or(""));
}

// A member of the answer and the type Go decodes it to.
struct Member {
  std::string_view name, go_type;
  bool (*fits)(const json::Value& value);
};
constexpr std::array kMembers = {
    Member{"uid", "types.UID", [](const json::Value& v) { return v.is_string(); }},
    Member{"allowed", "bool", [](const json::Value& v) { return v.is_bool(); }},
    Member{"status", "v1.Status", [](const json::Value& v) { return v.is_object(); }},
    Member{"patch", "[]uint8", [](const json::Value& v) { return v.is_string(); }},
    Member{"patchType", "v1.PatchType", [](const json::Value& v) { return v.is_string(); }},
    Member{"auditAnnotations", "map[string]string", [](const json::Value& v) { return v.is_object(); }},
    Member{"warnings", "[]string", [](const json::Value& v) { return v.is_array(); }},
};

Status CheckTypes(const json::Value& response) {
  for (const auto& member : kMembers)
    if (const auto& value = response[member.name]; !value.is_null() && !member.fits(value))
      return Unexpected(NotCalled("json: cannot unmarshal " + std::string(json::GoKindName(value)) +
                                  " into Go struct field AdmissionResponse.response." +
                                  std::string(member.name) + " of type " + std::string(member.go_type)));
  return {};
}

Result<json::Value> ParseReview(std::string_view body) {
  // Upstream's decoder takes either, and tells them apart so.
  const bool is_json = body.substr(std::min(body.find_first_not_of(" \t\r\n"), body.size())).starts_with('{');
  auto review = is_json ? json::Parse(body) : json::ParseYaml(body);
  if (!review)
    return Unexpected(NotCalled("couldn't get version/kind; json parse error: " + review.error().message()));
  if (!review->is_object())
    return Unexpected(NotCalled("couldn't get version/kind; json parse error: json: cannot unmarshal " +
                                std::string(json::GoKindName(*review)) +
                                " into Go value of type struct { APIVersion string "
                                "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                                "\"json:\\\"kind,omitempty\\\"\" }"));
  return review;
}

// What v1 demands of an answer and v1beta1 did not.
Status CheckStrictly(const json::Value& review, std::string_view uid, bool mutating) {
  const auto& response = review["response"];
  if (response["uid"].string_or("") != uid)
    return Unexpected(InvalidAnswer("expected response.uid=" + api::GoQuote(uid) + ", got " +
                                    api::GoQuote(response["uid"].string_or(""))));
  if (review["apiVersion"].string_or("") != "admission.k8s.io/v1" ||
      review["kind"].string_or("") != "AdmissionReview")
    return Unexpected(InvalidAnswer(
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got " + KindText(review)));
  const bool patch = !response["patch"].string_or("").empty();
  const bool type = response["patchType"].is_string();
  if (!mutating && patch)
    return Unexpected(InvalidAnswer("validating webhook may not return response.patch"));
  if (!mutating && type)
    return Unexpected(InvalidAnswer("validating webhook may not return response.patchType"));
  if (patch && !type)
    return Unexpected(InvalidAnswer("webhook returned response.patch but not response.patchType"));
  if (type && !patch)
    return Unexpected(InvalidAnswer("webhook returned response.patchType but not response.patch"));
  if (type && response["patchType"].string_or("").empty())
    return Unexpected(InvalidAnswer("webhook returned invalid response.patchType of \"\""));
  return {};
}

// The operations of an answer that allows the request; null if there is nothing to do.
Result<json::Value> ReadPatch(const json::Value& response, std::string_view review_version) {
  const auto encoded = response["patch"].string_or("");
  if (encoded.empty()) return json::Value();
  const auto text = net::Base64Decode(encoded);
  if (!text) return Unexpected(NotCalled("illegal base64 data at input byte 0"));
  auto patch = json::Parse(*text);
  const auto undecodable = [](std::string_view why) {
    return Unexpected(Error(Reason::kServiceUnavailable, 503,
                            "received undecodable patch in webhook response: " + std::string(why)));
  };
  if (!patch) return undecodable(patch.error().message());
  if (patch->is_null()) return json::Value();
  if (!patch->is_array())
    return undecodable("json: cannot unmarshal " + std::string(json::GoKindName(*patch)) +
                       " into Go value of type jsonpatch.Patch");
  if (patch->empty()) return json::Value();
  if (const auto type = response["patchType"].string_or(""); review_version == "v1" && type != "JSONPatch")
    return Unexpected(Error(Reason::kUnknown, 400, "unsupported patch type " + api::GoQuote(type)));
  return patch;
}

ErrorDetails DetailsOf(const json::Value& value) {
  ErrorDetails details;
  details.name = value["name"].string_or("");
  details.group = value["group"].string_or("");
  details.kind = value["kind"].string_or("");
  details.uid = value["uid"].string_or("");
  details.retry_after_seconds = static_cast<int>(
      std::clamp<std::int64_t>(value["retryAfterSeconds"].int_or(0), 0, std::numeric_limits<int>::max()));
  if (value["causes"].is_array())
    for (const auto& cause : value["causes"].as_array())
      details.causes.push_back({std::string(cause["reason"].string_or("")),
                                std::string(cause["message"].string_or("")),
                                std::string(cause["field"].string_or(""))});
  return details;
}

}  // namespace

std::string_view AdmissionReviewVersionOf(const json::Value& admission_review_versions) {
  if (!admission_review_versions.is_array()) return "";
  for (const auto& version : admission_review_versions.as_array()) {
    if (version.string_or("") == "v1") return "v1";
    if (version.string_or("") == "v1beta1") return "v1beta1";
  }
  return "";
}

std::string AdmissionReviewText(std::string_view review_version, const json::Value& request) {
  std::string out = "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"";
  out.append(kGroup).append(review_version).append("\",\"request\":");
  json::WriteTo(request, out);
  return out + "}";
}

Result<WebhookAnswer> ReadAdmissionAnswer(std::string_view body, std::string_view review_version,
                                          std::string_view uid, bool mutating) {
  FLYBALL_ASSIGN(json::Value review, ParseReview(body));
  json::Value& response = review["response"];
  if (response.is_null()) return Unexpected(InvalidAnswer("webhook response was absent"));
  if (!response.is_object())
    return Unexpected(
        NotCalled("json: cannot unmarshal " + std::string(json::GoKindName(response)) +
                  " into Go struct field AdmissionReview.response of type v1.AdmissionResponse"));
  FLYBALL_TRY(CheckTypes(response));
  if (review_version == "v1") FLYBALL_TRY(CheckStrictly(review, uid, mutating));
  WebhookAnswer answer;
  answer.allowed = response["allowed"].bool_or(false);
  answer.result = std::move(response["status"]);
  if (const auto& notes = response["auditAnnotations"]; notes.is_object())
    for (const auto& [key, value] : notes.as_object())
      answer.audit_annotations.emplace(key, value.string_or(""));
  if (const auto& warnings = response["warnings"]; warnings.is_array())
    for (const auto& warning : warnings.as_array()) answer.warnings.emplace_back(warning.string_or(""));
  if (mutating && answer.allowed) {
    FLYBALL_ASSIGN(answer.patch, ReadPatch(response, review_version));
  }
  return answer;
}

Error WebhookRejection(std::string_view name, json::Value result, std::string& unlisted_reason) {
  constexpr std::int64_t kLeastCode = 400;
  const json::Value& status = result;
  const std::string denied = "admission webhook " + api::GoQuote(name) + " denied the request";
  const std::string message(status["message"].string_or("")), reason(status["reason"].string_or(""));
  std::string shown = !message.empty()  ? denied + ": " + message
                      : !reason.empty() ? denied + ": " + reason
                                        : denied + " without explanation";
  if (ReasonFromName(reason) == Reason::kUnknown) unlisted_reason = reason;
  return Error(ReasonFromName(reason),
               static_cast<int>(std::clamp(status["code"].int_or(0), kLeastCode, std::int64_t{999})),
               std::move(shown), DetailsOf(status["details"]));
}

}  // namespace flyball::server
