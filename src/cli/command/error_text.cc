#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

// Never an HTTP status.
constexpr int kLocalCode = 0;
constexpr int kPlainCode = 1;

std::string InvalidText(const Error& error) {
  const ErrorDetails& details = error.details();
  if (details.kind.empty()) return "The request is invalid: " + error.message();
  std::string text = "The " + details.kind + " \"" + details.name + "\" is invalid";
  if (details.causes.empty()) return text + ": " + error.message();
  const auto line = [](const Cause& cause) {
    return cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  };
  if (details.causes.size() == 1) return text + ": " + line(details.causes[0]);
  text += ":";
  for (const Cause& cause : details.causes) text += " \n* " + line(cause);
  return text;
}

}  // namespace

Error LocalError(std::string message) {
  return Error(Reason::kUnknown, kLocalCode, std::move(message));
}

Error PlainError(std::string message) {
  return Error(Reason::kUnknown, kPlainCode, std::move(message));
}

Error PrintedError() {
  return LocalError("");
}

std::string ErrorTextInList(const Error& error) {
  return error.code() == kLocalCode && error.Is(Reason::kUnknown) ? error.message() : ErrorText(error);
}

std::string ErrorText(const Error& error) {
  if (error.code() == kPlainCode && error.Is(Reason::kUnknown)) return error.message();
  if (error.code() == kLocalCode && error.Is(Reason::kUnknown))
    return error.message().empty() || error.message().starts_with("error: ") ? error.message()
                                                                             : "error: " + error.message();
  switch (error.reason()) {
    case Reason::kInvalid:
      return InvalidText(error);
    case Reason::kUnauthorized:
      return "error: You must be logged in to the server (" + error.message() + ")";
    case Reason::kConnection:
      return "Unable to connect to the server: " + error.message();
    case Reason::kCancelled:
      return "error: " + error.message();
    case Reason::kUnknown:
      return "Error from server: " + error.message();
    default:
      return "Error from server (" + std::string(ReasonName(error.reason())) + "): " + error.message();
  }
}

}  // namespace flyball::cli
