#include "base/values/error.h"

#include <array>
#include <utility>

namespace flyball {
namespace {

struct ReasonRow {
  Reason reason;
  std::string_view name;
  int code;
};

constexpr std::array kReasons = {
    ReasonRow{Reason::kUnknown, "", 500},
    ReasonRow{Reason::kUnauthorized, "Unauthorized", 401},
    ReasonRow{Reason::kForbidden, "Forbidden", 403},
    ReasonRow{Reason::kNotFound, "NotFound", 404},
    ReasonRow{Reason::kAlreadyExists, "AlreadyExists", 409},
    ReasonRow{Reason::kConflict, "Conflict", 409},
    ReasonRow{Reason::kGone, "Gone", 410},
    ReasonRow{Reason::kInvalid, "Invalid", 422},
    ReasonRow{Reason::kServerTimeout, "ServerTimeout", 500},
    ReasonRow{Reason::kTimeout, "Timeout", 504},
    ReasonRow{Reason::kTooManyRequests, "TooManyRequests", 429},
    ReasonRow{Reason::kBadRequest, "BadRequest", 400},
    ReasonRow{Reason::kMethodNotAllowed, "MethodNotAllowed", 405},
    ReasonRow{Reason::kNotAcceptable, "NotAcceptable", 406},
    ReasonRow{Reason::kRequestEntityTooLarge, "RequestEntityTooLarge", 413},
    ReasonRow{Reason::kUnsupportedMediaType, "UnsupportedMediaType", 415},
    ReasonRow{Reason::kInternalError, "InternalError", 500},
    ReasonRow{Reason::kExpired, "Expired", 410},
    ReasonRow{Reason::kServiceUnavailable, "ServiceUnavailable", 503},
    ReasonRow{Reason::kConnection, "Connection", 500},
    ReasonRow{Reason::kCancelled, "Cancelled", 500},
};

const ReasonRow& Row(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

}  // namespace

std::string_view ReasonName(Reason reason) {
  return Row(reason).name;
}

Reason ReasonFromName(std::string_view name) {
  for (const auto& row : kReasons)
    if (row.name == name) return row.reason;
  return Reason::kUnknown;
}

int CodeOf(Reason reason) {
  return Row(reason).code;
}

Error::Error(Reason reason, std::string message) : Error(reason, CodeOf(reason), std::move(message)) {}

Error::Error(Reason reason, int code, std::string message, ErrorDetails details)
    : state_(std::make_shared<const State>(State{reason, code, std::move(message), std::move(details)})) {}

bool Error::HasCause(std::string_view cause_reason) const {
  for (const auto& cause : state_->details.causes)
    if (cause.reason == cause_reason) return true;
  return false;
}

bool Error::IsRetryable() const {
  switch (reason()) {
    case Reason::kConflict:
    case Reason::kServerTimeout:
    case Reason::kTimeout:
    case Reason::kTooManyRequests:
    case Reason::kServiceUnavailable:
    case Reason::kConnection:
      return true;
    default:
      return code() == 500 && reason() == Reason::kInternalError;
  }
}

Error Error::WithDetails(ErrorDetails details) const {
  return Error(reason(), code(), message(), std::move(details));
}

Error Error::Annotate(std::string_view prefix) const {
  return Error(reason(), code(), std::string(prefix) + ": " + message(), details());
}

std::string Error::ToString() const {
  return std::string(ReasonName(reason())) + " (" + std::to_string(code()) + "): " + message();
}

Error InternalError(std::string message) {
  return Error(Reason::kInternalError, std::move(message));
}
Error OutOfMemory() {
  return InternalError("out of memory");
}
Error BadRequest(std::string message) {
  return Error(Reason::kBadRequest, std::move(message));
}

}  // namespace flyball
