// Bootstrap tokens: Secrets of type bootstrap.kubernetes.io/token in kube-system, with which new nodes ask
// for their first certificate (upstream: --enable-bootstrap-token-auth).
#pragma once

#include <memory>

#include "base/run/clock.h"
#include "server/auth/authentication.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// "abcdef.0123456789abcdef" is the user system:bootstrap:abcdef of system:bootstrappers, and of the groups in
// auth-extra-groups, if the Secret bootstrap-token-abcdef says so and has not expired.
std::unique_ptr<TokenAuthenticator> NewBootstrapTokenAuthenticator(const Catalog& catalog,
                                                                   const Clock& clock);

}  // namespace flyball::server
