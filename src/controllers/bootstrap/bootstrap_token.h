// Bootstrap tokens as stored in Secrets (upstream: k8s.io/cluster-bootstrap): type
// bootstrap.kubernetes.io/token in kube-system, named bootstrap-token-<id>.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

inline constexpr std::string_view kBootstrapTokenType = "bootstrap.kubernetes.io/token";
inline constexpr std::string_view kBootstrapTokenNamespace = "kube-system";

bool IsBootstrapToken(const Secret& secret);

// When a token expires; nullopt: never. A time that cannot be parsed counts as long past.
std::optional<TimePoint> TokenExpiry(const Secret& secret);

struct SigningToken {
  std::string id, secret;
};
// Returns the token if it may sign now: well-formed, not expired, marked usage-bootstrap-signing.
std::optional<SigningToken> TokenForSigning(const Secret& secret, TimePoint now);

// "<header>..<signature>": a JSON Web Signature (HS256 with the token's secret) without its content.
std::string DetachedSignature(std::string_view content, const SigningToken& token);

}  // namespace flyball::controllers
