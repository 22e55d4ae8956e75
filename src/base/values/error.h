// Error: what went wrong, in the form of the API's Status. The server sends it, the client parses it back,
// and a reconciler asks `e.Is(Reason::kConflict)`. The project has no other error type.
//
// An Error is an immutable shared value: a copy costs a reference count, and Result<T> stays small.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flyball {

// The reasons of a Status (upstream: metav1.StatusReason). kUnknown is the empty reason.
enum class Reason : std::uint8_t {
  kUnknown,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kAlreadyExists,
  kConflict,
  kGone,
  kInvalid,
  kServerTimeout,
  kTimeout,
  kTooManyRequests,
  kBadRequest,
  kMethodNotAllowed,
  kNotAcceptable,
  kRequestEntityTooLarge,
  kUnsupportedMediaType,
  kInternalError,
  kExpired,
  kServiceUnavailable,
  // Never on the wire: the peer could not be reached, or the connection broke before a response arrived.
  kConnection,
  // Never on the wire: the caller cancelled.
  kCancelled,
};

// "NotFound" for kNotFound; "" for kUnknown.
std::string_view ReasonName(Reason reason);
Reason ReasonFromName(std::string_view name);
// The HTTP status code for a reason; 500 for kUnknown and the local reasons.
int CodeOf(Reason reason);

// One of several problems (upstream: metav1.StatusCause).
struct Cause {
  std::string reason;   // e.g. "FieldValueRequired"
  std::string message;  // e.g. "Required value"
  std::string field;    // e.g. "spec.containers[0].name"
  bool operator==(const Cause&) const = default;
};

// What the error is about (upstream: metav1.StatusDetails).
struct ErrorDetails {
  std::string name, group, kind, uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;
  bool present = false;  // sent even when everything above is empty ("details": {}), as for some errors
  bool operator==(const ErrorDetails&) const = default;
  bool empty() const { return *this == ErrorDetails{}; }
};

class Error {
 public:
  Error(Reason reason, std::string message);
  Error(Reason reason, int code, std::string message, ErrorDetails details = {});

  Reason reason() const { return state_->reason; }
  int code() const { return state_->code; }
  const std::string& message() const { return state_->message; }
  const ErrorDetails& details() const { return state_->details; }

  bool Is(Reason reason) const { return state_->reason == reason; }
  bool HasCause(std::string_view cause_reason) const;
  // True if a retry with the same input may succeed: conflicts, timeouts, overload and broken connections.
  bool IsRetryable() const;

  Error WithDetails(ErrorDetails details) const;
  // Returns the same error with "prefix: " before its message.
  Error Annotate(std::string_view prefix) const;
  // "NotFound (404): pods "x" not found".
  std::string ToString() const;

 private:
  struct State {
    Reason reason;
    int code;
    std::string message;
    ErrorDetails details;
  };
  std::shared_ptr<const State> state_;
};

// Shorthands for common errors.
Error InternalError(std::string message);
Error BadRequest(std::string message);
// The process has no memory left for this: the server's fault, never the request's.
Error OutOfMemory();

}  // namespace flyball
