#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

ErrorDetails About(const api::KindInfo& kind, std::string_view name) {
  return {.name = std::string(name), .group = std::string(kind.group), .kind = std::string(kind.plural)};
}

std::string Named(const api::KindInfo& kind, std::string_view name) {
  return kind.GroupResource() + " \"" + std::string(name) + "\"";
}

}  // namespace

Error NotFound(const api::KindInfo& kind, std::string_view name) {
  return Error(Reason::kNotFound, 404, Named(kind, name) + " not found", About(kind, name));
}

Error AlreadyExists(const api::KindInfo& kind, std::string_view name) {
  return Error(Reason::kAlreadyExists, 409, Named(kind, name) + " already exists", About(kind, name));
}

std::string DecodingProblem(const Error& error) {
  constexpr std::string_view kHandled = " cannot be handled as a ";
  const auto handled = error.message().find(kHandled);
  const auto colon = handled == std::string::npos ? handled : error.message().find(": ", handled);
  return colon == std::string::npos ? error.message() : error.message().substr(colon + 2);
}

Error GeneratedNameTaken(const api::KindInfo& kind, std::string_view name) {
  ErrorDetails details = About(kind, name);
  details.retry_after_seconds = 1;
  return Error(
      Reason::kAlreadyExists, 409,
      Named(kind, name) + " already exists, the server was not able to generate a unique name for the object",
      std::move(details));
}

Error Conflict(const api::KindInfo& kind, std::string_view name, std::string_view why) {
  return Error(Reason::kConflict, 409,
               "Operation cannot be fulfilled on " + Named(kind, name) + ": " + std::string(why),
               About(kind, name));
}

Error Modified(const api::KindInfo& kind, std::string_view name) {
  return Conflict(
      kind, name,
      "the object has been modified; please apply your changes to the latest version and try again");
}

Error MethodNotAllowed() {
  return Error(Reason::kMethodNotAllowed, 405,
               "the server does not allow this method on the requested resource", {.present = true});
}

Error DefinitionTerminating(const api::KindInfo& kind, std::string_view verb) {
  return Error(Reason::kMethodNotAllowed, 405,
               std::string(verb) + " not allowed while custom resource definition is terminating",
               {.group = std::string(kind.group), .kind = std::string(kind.plural)});
}

Error NoSuchResource() {
  return Error(Reason::kNotFound, 404, "the server could not find the requested resource", {.present = true});
}

Error Expired(std::string_view message) {
  return Error(Reason::kExpired, 410, std::string(message));
}

Error TooLargeResourceVersion(std::int64_t wanted, std::int64_t current, int retry_seconds) {
  ErrorDetails details{.causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}},
                       .retry_after_seconds = retry_seconds};
  return Error(Reason::kTimeout, 504,
               "Timeout: Too large resource version: " + std::to_string(wanted) +
                   ", current: " + std::to_string(current),
               std::move(details));
}

}  // namespace flyball::server
