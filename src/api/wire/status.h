// Status: an Error as the API sends it, and back.
#pragma once

#include "base/values/error.h"
#include "json/value.h"

namespace flyball::api {

// {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",...}.
json::Value StatusFromError(const Error& error);

// The Error a Failure Status says. `http_code` is used where the body has no code; a body that is no Status
// gives an error made from the code alone.
Error ErrorFromStatus(const json::Value& status, int http_code);

}  // namespace flyball::api
