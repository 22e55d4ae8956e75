// The errors of resource requests, in Kubernetes' words (upstream: apimachinery api/errors).
#pragma once

#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "base/values/error.h"

namespace flyball::server {

// What is wrong with an object, without the words "X in version Y cannot be handled as a Z" that only a
// client's body deserves.
std::string DecodingProblem(const Error& error);

Error NotFound(const api::KindInfo& kind, std::string_view name);       // pods "x" not found
Error AlreadyExists(const api::KindInfo& kind, std::string_view name);  // pods "x" already exists
// The same of an object that has a generateName.
Error GeneratedNameTaken(const api::KindInfo& kind, std::string_view name);
Error Conflict(const api::KindInfo& kind, std::string_view name, std::string_view why);
Error Modified(const api::KindInfo& kind, std::string_view name);  // the object has been modified; ...
Error MethodNotAllowed();
// create not allowed while custom resource definition is terminating
Error DefinitionTerminating(const api::KindInfo& kind, std::string_view verb);
Error NoSuchResource();  // the server could not find the requested resource
Error Expired(std::string_view message);
// retry_seconds 0: the answer does not say when to come again.
Error TooLargeResourceVersion(std::int64_t wanted, std::int64_t current, int retry_seconds);

}  // namespace flyball::server
