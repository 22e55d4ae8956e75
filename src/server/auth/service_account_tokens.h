// Service-account tokens: JSON Web Tokens that pods and controllers carry (upstream: pkg/serviceaccount):
// issuing (TokenRequest), checking (signature, expiry, audience, and that the account and the bound object
// still exist), and the OpenID documents with which others check them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "server/api_server.h"
#include "server/auth/authentication.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

class Documents;

struct BoundObject {
  std::string kind, name, uid;      // Pod, Secret or Node; empty: not bound
  std::string node_name, node_uid;  // of a bound pod
};

struct IssuedToken {
  std::string token;
  TimePoint expires;
};

// Thread-safe.
class ServiceAccountTokens {
 public:
  static Result<std::unique_ptr<ServiceAccountTokens>> Make(const ApiServerOptions& options,
                                                            const Catalog& catalog, const Clock& clock);
  virtual ~ServiceAccountTokens() = default;

  virtual Result<IssuedToken> Issue(std::string_view namespace_name, std::string_view name,
                                    std::string_view uid, const std::vector<std::string>& audiences,
                                    Duration lifetime, const BoundObject& bound) = 0;
  // Unauthorized for a token of our issuer that is not valid (any more).
  virtual std::unique_ptr<TokenAuthenticator> NewAuthenticator() = 0;
  virtual const std::vector<std::string>& audiences() const = 0;
  // /openid/v1/jwks and /.well-known/openid-configuration.
  virtual void AddPages(Documents& documents) = 0;
};

}  // namespace flyball::server
