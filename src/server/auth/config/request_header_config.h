// The rules of the --requestheader-* flags.
#pragma once

#include <string_view>

#include "base/values/result.h"
#include "server/auth/authentication_options.h"

namespace flyball::server {

// BadRequest in upstream's words: blank names, X-Remote-Uid missing, and the same authority for proxies and
// for users without `allowed_names`.
Status ValidateRequestHeaders(const RequestHeaderOptions& options, std::string_view client_ca_pem,
                              std::string_view request_header_ca_pem);

}  // namespace flyball::server
