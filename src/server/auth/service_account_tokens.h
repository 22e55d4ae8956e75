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
#include "json/value.h"
#include "server/auth/authentication.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

struct BoundObject {
  std::string kind, name, uid;      // Pod, Secret or Node; empty: not bound
  std::string node_name, node_uid;  // of a bound pod
};

struct IssuedToken {
  std::string token;
  TimePoint expires;
};

struct ServiceAccountTokenOptions {
  std::vector<std::string> issuers;    // the first makes tokens; those of the others are accepted too
  std::string signing_key;             // PEM; empty: one is made, and tokens die with the process
  std::vector<std::string> keys;       // further public keys that are accepted
  std::vector<std::string> audiences;  // empty: the issuers
};

// Thread-safe.
class ServiceAccountTokens {
 public:
  static Result<std::unique_ptr<ServiceAccountTokens>> Make(const ServiceAccountTokenOptions& options,
                                                            const Catalog& catalog, const Clock& clock);
  virtual ~ServiceAccountTokens() = default;

  virtual Result<IssuedToken> Issue(std::string_view namespace_name, std::string_view name,
                                    std::string_view uid, const std::vector<std::string>& audiences,
                                    Duration lifetime, const BoundObject& bound) = 0;
  // Unauthorized for a token of our issuer that is not valid (any more).
  virtual std::unique_ptr<TokenAuthenticator> NewAuthenticator() = 0;
  virtual const std::vector<std::string>& audiences() const = 0;
  // The document of /openid/v1/jwks, and that of /.well-known/openid-configuration for a server found at
  // `address` ("host:port").
  virtual json::Value KeySet() const = 0;
  virtual json::Value Configuration(std::string_view address) const = 0;
};

}  // namespace flyball::server
