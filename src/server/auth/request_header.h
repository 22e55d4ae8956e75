// Users that an authenticating proxy in front names in headers (upstream: --requestheader-*). The proxy
// proves itself by a client certificate of an authority of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "server/auth/authentication.h"
#include "server/auth/authentication_options.h"
#include "server/auth/trusted_authorities.h"

namespace flyball::server {

// A certificate of the authorities whose name is not allowed is Unauthorized; one of others is not this
// method's.
std::unique_ptr<Authenticator> NewRequestHeaderAuthenticator(
    const RequestHeaderOptions& options, std::shared_ptr<const TrustedAuthorities> proxies,
    const Clock& clock);

}  // namespace flyball::server
