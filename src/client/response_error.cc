#include "client/response_error.h"

#include <charconv>
#include <string>

#include "api/wire/status.h"
#include "json/json.h"

namespace flyball {
namespace {

// Longer bodies are cut in messages (client-go's limit).
constexpr std::size_t kMaxBodyInMessage = 2048;

struct Known {
  int code;
  Reason reason;
  std::string_view message;
};
constexpr Known kKnown[] = {
    {400, Reason::kBadRequest, "the server rejected our request for an unknown reason"},
    {401, Reason::kUnauthorized, "the server has asked for the client to provide credentials"},
    {403, Reason::kForbidden, "the server does not allow access to the requested resource"},
    {404, Reason::kNotFound, "the server could not find the requested resource"},
    {405, Reason::kMethodNotAllowed, "the server does not allow this method on the requested resource"},
    {406, Reason::kNotAcceptable,
     "the server was unable to respond with a content type that the client supports"},
    {409, Reason::kConflict, "the server reported a conflict"},
    {410, Reason::kGone, "the server no longer has the requested resource"},
    {415, Reason::kUnsupportedMediaType,
     "the server was not able to process the content type of the request"},
    {422, Reason::kInvalid, "the server rejected our request due to an error in our request"},
    {429, Reason::kTooManyRequests,
     "the server has received too many requests and has asked us to try again later"},
    {503, Reason::kServiceUnavailable, "the server is currently unable to handle the request"},
    {504, Reason::kTimeout,
     "the server was unable to return a response in the time allotted, but may still be processing the "
     "request"},
};

// Only what is meant for people is shown to them.
bool IsText(const net::Headers& headers) {
  const std::string_view type = headers.Get("content-type");
  return type.empty() || type.starts_with("text/");
}

Error FromCode(int code, const net::Headers& headers, std::string_view body) {
  for (const Known& known : kKnown)
    if (known.code == code) return Error(known.reason, code, std::string(known.message));
  const std::string shown(IsText(headers) ? body.substr(0, kMaxBodyInMessage) : "unknown");
  if (code >= 500)
    return Error(Reason::kInternalError, code,
                 "an error on the server (\"" + shown + "\") has prevented the request from succeeding");
  return Error(Reason::kUnknown, code,
               "the server responded with the status code " + std::to_string(code) +
                   " but did not return more information");
}

int RetryAfter(const net::Headers& headers) {
  const std::string_view text = headers.Get("retry-after");
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

}  // namespace

Error ErrorFromResponse(int code, const net::Headers& headers, std::string_view body) {
  const auto parsed = json::Parse(body);
  const bool is_status = parsed && parsed->is_object() && (*parsed)["kind"].string_or("") == "Status";
  Error error = is_status ? api::ErrorFromStatus(*parsed, code) : FromCode(code, headers, body);
  if (const int seconds = RetryAfter(headers); seconds > 0 && error.details().retry_after_seconds == 0) {
    ErrorDetails details = error.details();
    details.retry_after_seconds = seconds;
    error = error.WithDetails(std::move(details));
  }
  return error;
}

}  // namespace flyball
