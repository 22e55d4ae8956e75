#include "api/wire/status.h"

namespace flyball::api {
namespace {

json::Value DetailsValue(const ErrorDetails& details) {
  json::Object out;
  if (!details.name.empty()) out.Set("name", details.name);
  if (!details.group.empty()) out.Set("group", details.group);
  if (!details.kind.empty()) out.Set("kind", details.kind);
  if (!details.uid.empty()) out.Set("uid", details.uid);
  if (!details.causes.empty()) {
    json::Array causes;
    for (const auto& cause : details.causes) {
      json::Object item;
      if (!cause.reason.empty()) item.Set("reason", cause.reason);
      if (!cause.message.empty()) item.Set("message", cause.message);
      if (!cause.field.empty()) item.Set("field", cause.field);
      causes.push_back(std::move(item));
    }
    out.Set("causes", std::move(causes));
  }
  if (details.retry_after_seconds != 0) out.Set("retryAfterSeconds", details.retry_after_seconds);
  return out;
}

ErrorDetails DetailsFrom(const json::Value& value) {
  ErrorDetails details;
  details.name = value["name"].string_or("");
  details.group = value["group"].string_or("");
  details.kind = value["kind"].string_or("");
  details.uid = value["uid"].string_or("");
  details.retry_after_seconds = static_cast<int>(value["retryAfterSeconds"].int_or(0));
  if (const auto& causes = value["causes"]; causes.is_array())
    for (const auto& cause : causes.as_array())
      details.causes.push_back({std::string(cause["reason"].string_or("")),
                                std::string(cause["message"].string_or("")),
                                std::string(cause["field"].string_or(""))});
  return details;
}

Reason ReasonFromCode(int code) {
  switch (code) {
    case 400:
      return Reason::kBadRequest;
    case 401:
      return Reason::kUnauthorized;
    case 403:
      return Reason::kForbidden;
    case 404:
      return Reason::kNotFound;
    case 405:
      return Reason::kMethodNotAllowed;
    case 406:
      return Reason::kNotAcceptable;
    case 409:
      return Reason::kConflict;
    case 410:
      return Reason::kGone;
    case 413:
      return Reason::kRequestEntityTooLarge;
    case 415:
      return Reason::kUnsupportedMediaType;
    case 422:
      return Reason::kInvalid;
    case 429:
      return Reason::kTooManyRequests;
    case 503:
      return Reason::kServiceUnavailable;
    case 504:
      return Reason::kTimeout;
    default:
      return code >= 500 ? Reason::kInternalError : Reason::kUnknown;
  }
}

}  // namespace

json::Value StatusFromError(const Error& error) {
  json::Object out;
  out.Set("kind", "Status");
  out.Set("apiVersion", "v1");
  out.Set("metadata", json::Object{});
  out.Set("status", "Failure");
  if (!error.message().empty()) out.Set("message", error.message());
  if (error.reason() != Reason::kUnknown) out.Set("reason", ReasonName(error.reason()));
  if (!error.details().empty()) out.Set("details", DetailsValue(error.details()));
  out.Set("code", error.code());
  return out;
}

Error ErrorFromStatus(const json::Value& status, int http_code) {
  if (status["kind"].string_or("") != "Status")
    return Error(ReasonFromCode(http_code), http_code,
                 "the server answered with HTTP status " + std::to_string(http_code));
  const int code = static_cast<int>(status["code"].int_or(http_code));
  const auto reason_name = status["reason"].string_or("");
  const Reason reason = reason_name.empty() ? Reason::kUnknown : ReasonFromName(reason_name);
  return Error(reason, code, std::string(status["message"].string_or("")), DetailsFrom(status["details"]));
}

}  // namespace flyball::api
