// AdmissionReview: what a webhook is asked, and what it may answer. Pure functions: answers come from other
// people's programs and are trusted in nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::server {

// "v1" or "v1beta1": the first that both sides know; "" if there is none.
std::string_view AdmissionReviewVersionOf(const json::Value& admission_review_versions);

// The text of a review; `request` is complete.
std::string AdmissionReviewText(std::string_view review_version, const json::Value& request);

struct WebhookAnswer {
  bool allowed = false;
  json::Value patch;   // of a mutating webhook: operations, at least one; null: none
  json::Value result;  // a Status; null: none
  std::vector<std::string> warnings;
  std::map<std::string, std::string> audit_annotations;
};
// How much of an answer is read. An object is 1.5 MB at most, and a patch of all of it, in base64, twice
// that.
inline constexpr std::size_t kMaxAdmissionAnswer = 4u << 20;

// Checks an answer as upstream does (VerifyAdmissionResponse). The error is what comes behind `failed calling
// webhook "x": `.
Result<WebhookAnswer> ReadAdmissionAnswer(std::string_view body, std::string_view review_version,
                                          std::string_view uid, bool mutating);

// What a client is told whose request the webhook `name` does not allow: the webhook's own Status, of a code
// of at least 400. `unlisted_reason` is the Status's reason if it is none the API knows.
Error WebhookRejection(std::string_view name, json::Value result, std::string& unlisted_reason);

}  // namespace flyball::server
