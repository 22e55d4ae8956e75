#include "server/custom/conversion_review.h"

#include <algorithm>

#include "api/rules/object_meta.h"
#include "api/values/go_text.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::server {
namespace {

constexpr char kMalformed[] = "conversion_webhook_malformed_response_failure";
constexpr char kPartial[] = "conversion_webhook_partial_response_failure";
constexpr char kInvalidObject[] = "conversion_webhook_invalid_converted_object_failure";

std::string TextOf(const json::Value& value) {
  return std::string(value.string_or(""));
}

// "group/version, Kind=X": Go's GroupVersionKind.
std::string KindText(std::string_view api_version, std::string_view kind) {
  std::string out(api_version.find('/') == std::string_view::npos ? "/" : "");
  return out.append(api_version).append(", Kind=").append(kind);
}

// How upstream begins every complaint: a list is named by its list kind.
std::string Subject(const std::vector<json::Value>& objects, std::string_view api_version) {
  const auto& first = objects.front();
  const bool list = objects.size() > 1;
  return "conversion webhook for " + KindText(list ? api_version : first["apiVersion"].string_or(""),
                                              TextOf(first["kind"]) + (list ? "List" : ""));
}

Error Plain(std::string message) {
  return Error(Reason::kUnknown, 500, std::move(message));
}

std::string GoTypeOf(const json::Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int64";
  if (value.is_number()) return "float64";
  if (value.is_string()) return "string";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

Status CheckSame(const json::Value& in, const json::Value& out) {
  struct Field {
    const char* shown;
    const json::Value &before, &after;
  };
  const auto &meta_in = in["metadata"], &meta_out = out["metadata"];
  for (const Field& field : {Field{"name", meta_in["name"], meta_out["name"]},
                             Field{"namespace", meta_in["namespace"], meta_out["namespace"]},
                             Field{"UID", meta_in["uid"], meta_out["uid"]}})
    if (field.before.string_or("") != field.after.string_or(""))
      return Unexpected(Plain("must have the same " + std::string(field.shown) + ": " + TextOf(field.before) +
                              " != " + TextOf(field.after)));
  return {};
}

// Labels or annotations of the answer; null if there are none.
Result<json::Value> CheckedTexts(std::string_view name, const json::Value& texts, const json::Value& before) {
  const std::string shown = "metadata." + std::string(name);
  if (texts.is_null()) return json::Value();
  if (!texts.is_object())
    return Unexpected(Plain("invalid " + shown + " of type " + GoTypeOf(texts) + " in converted object"));
  for (const auto& [key, value] : texts.as_object())
    if (!value.is_string())
      return Unexpected(Plain(shown + "[" + std::string(key) + "] must be a string, but is " +
                              GoTypeOf(value) + " in converted object"));
  if (texts == before) return texts;
  api::FieldErrors errors;
  if (name == "labels") {
    api::ValidateLabels(texts, api::FieldPath(shown), errors);
  } else {
    api::ValidateAnnotations(texts, api::FieldPath("metadata.annotation"), errors);
  }
  if (errors.empty()) return texts;
  std::vector<std::string> problems;
  for (const auto& cause : errors.causes()) problems.push_back(cause.field + ": " + cause.message);
  return Unexpected(Plain(problems.size() == 1 ? problems[0] : api::GoList(problems)));
}

// The original's metadata, with the answer's labels and annotations.
Status RestoreMetadata(const json::Value& original, json::Value& converted) {
  const json::Value* answered = converted.Find("metadata");
  if (answered == nullptr) return Unexpected(Plain("missing metadata in converted object"));
  if (!answered->is_object())
    return Unexpected(Plain("invalid metadata of type " + GoTypeOf(*answered) + " in converted object"));
  json::Value metadata = original["metadata"];
  for (const std::string_view name : {"labels", "annotations"}) {
    FLYBALL_ASSIGN(json::Value texts, CheckedTexts(name, (*answered)[name], original["metadata"][name]));
    if (texts.is_null())
      metadata.as_object().Erase(name);
    else
      metadata[name] = std::move(texts);
  }
  converted["metadata"] = std::move(metadata);
  return {};
}

// One converted object, complete. The error is what comes behind "returned invalid ... ".
Result<json::Value> Accept(const json::Value& original, json::Value converted, std::string_view api_version,
                           std::string& what) {
  what = "object at index ";
  if (!converted.is_object() || TextOf(converted["kind"]).empty())
    return Unexpected(Plain("Object 'Kind' is missing in '" + json::Write(converted) + "'"));
  if (converted["apiVersion"].string_or("") != api_version)
    return Unexpected(Plain("invalid groupVersion (expected " + std::string(api_version) + ", received " +
                            TextOf(converted["apiVersion"]) + ")"));
  if (converted["kind"].string_or("") != original["kind"].string_or(""))
    return Unexpected(Plain("invalid kind (expected " + TextOf(original["kind"]) + ", received " +
                            TextOf(converted["kind"]) + ")"));
  what = "object";
  FLYBALL_TRY(CheckSame(original, converted));
  what = "metadata";
  FLYBALL_TRY(RestoreMetadata(original, converted));
  return converted;
}

// Where in a list the fault is, as upstream says it.
std::string Fault(const std::string& what, std::size_t count, std::size_t index) {
  const std::string at = " at index " + std::to_string(index);
  if (count == 1) return " returned invalid " + (what == "object at index " ? what + "0" : what) + ": ";
  if (what == "metadata") return " returned invalid metadata in object" + at + ": ";
  return " returned invalid converted object" + at + ": ";
}

// What is wrong with the review as such; "" if nothing is.
std::string ReviewProblem(const json::Value& review, std::string_view review_version, std::string_view uid) {
  const auto& response = review["response"];
  if (review_version == "v1") {
    const std::string wanted = "apiextensions.k8s.io/v1";
    if (review["apiVersion"].string_or("") != wanted || review["kind"].string_or("") != "ConversionReview")
      return "expected webhook response of " + KindText(wanted, "ConversionReview") + ", got " +
             KindText(review["apiVersion"].string_or(""), review["kind"].string_or(""));
  }
  if (!response.is_object()) return "no response provided";
  if (review_version == "v1" && response["uid"].string_or("") != uid)
    return "expected response.uid=" + api::GoQuote(uid) + ", got " +
           api::GoQuote(response["uid"].string_or(""));
  const auto& result = response["result"];
  if (result["status"].string_or("") == "Success") return "";
  if (!TextOf(result["message"]).empty()) return TextOf(result["message"]);
  return "response.result.status was '" + TextOf(result["status"]) + "', not 'Success'";
}

}  // namespace

std::string_view ReviewVersionOf(const json::Value& conversion_review_versions) {
  if (!conversion_review_versions.is_array()) return "";
  for (const auto& version : conversion_review_versions.as_array()) {
    if (version.string_or("") == "v1") return "v1";
    if (version.string_or("") == "v1beta1") return "v1beta1";
  }
  return "";
}

std::string ConversionRequest(std::string_view review_version, std::string_view uid,
                              std::string_view api_version, const std::vector<json::Value>& objects) {
  std::string out = "{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/";
  out.append(review_version).append("\",\"request\":{\"uid\":\"").append(uid);
  out += "\",\"desiredAPIVersion\":";
  json::WriteTo(json::Value(api_version), out);
  out += ",\"objects\":[";
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) out += ',';
    json::WriteTo(objects[i], out);
  }
  return out + "]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}";
}

Result<std::vector<json::Value>> ReadConversionAnswer(std::string_view answer,
                                                      std::string_view review_version, std::string_view uid,
                                                      std::string_view api_version,
                                                      const std::vector<json::Value>& objects,
                                                      std::string& failure) {
  const auto fail = [&failure](const char* type, std::string message) {
    failure = type;
    return Unexpected(Plain(std::move(message)));
  };
  const std::string subject = Subject(objects, api_version);
  // Upstream's decoder takes either, and tells them apart so.
  const bool is_json =
      answer.substr(std::min(answer.find_first_not_of(" \t\r\n"), answer.size())).starts_with('{');
  auto review = is_json ? json::Parse(answer) : json::ParseYaml(answer);
  if (!review || !review->is_object())
    return fail(kConversionCallFailure,
                subject + " failed: couldn't get version/kind; json parse error: " +
                    (review ? "json: cannot unmarshal " + std::string(json::GoKindName(*review)) +
                                  " into Go value of type struct { APIVersion string "
                                  "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                                  "\"json:\\\"kind,omitempty\\\"\" }"
                            : review.error().message()));
  if (const auto problem = ReviewProblem(*review, review_version, uid); !problem.empty())
    return fail(kMalformed, subject + " failed: " + problem);
  json::Value& list = (*review)["response"]["convertedObjects"];
  const std::size_t count = list.is_array() ? list.size() : 0;
  if (count != objects.size())
    return fail(kPartial, subject + " returned " + std::to_string(count) + " objects, expected " +
                              std::to_string(objects.size()));
  std::vector<json::Value> converted;
  converted.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string what;
    auto accepted = Accept(objects[i], std::move(list.as_array()[i]), api_version, what);
    if (!accepted) return fail(kInvalidObject, subject + Fault(what, count, i) + accepted.error().message());
    converted.push_back(std::move(*accepted));
  }
  return converted;
}

}  // namespace flyball::server
