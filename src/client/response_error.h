// The Error that an answer of 400 or more means.
#pragma once

#include <string_view>

#include "base/values/error.h"
#include "net/http/http.h"

namespace flyball {

// Its Status if the body is one (with details, causes and retryAfterSeconds), else one made from the code in
// client-go's words for it. A Retry-After header fills details.retry_after_seconds where the body does not.
Error ErrorFromResponse(int code, const net::Headers& headers, std::string_view body);

}  // namespace flyball
