// How a registry asks who somebody is, and the answers: Basic, or Bearer with a token from the registry's
// token server (https://distribution.github.io/distribution/spec/auth/token/).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "node/registry/registry_http.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

struct AuthChallenge {
  std::string scheme;  // lower case: "basic", "bearer"
  std::string realm, service, scope, error;
  bool operator==(const AuthChallenge&) const = default;
};

// Of the values of WWW-Authenticate. What cannot be understood is left out.
std::vector<AuthChallenge> ParseChallenges(const std::vector<std::string_view>& values);

struct RegistryAuthorization {
  std::string header;             // the value of Authorization
  bool with_credentials = false;  // somebody without them may not have got it
};

// Answers the challenges of a registry at `url`. `scope`: what is wanted ("repository:x:pull"), if the
// registry does not say. Unauthorized if it cannot: no credentials where some are needed, or the token server
// refuses. Credentials go only to those whom the registry names, and never from HTTPS to plain HTTP.
Result<RegistryAuthorization> Authorize(RegistryHttp& http, const std::string& url,
                                        const std::vector<AuthChallenge>& challenges,
                                        const std::string& scope,
                                        const std::optional<RegistryCredentials>& credentials);

}  // namespace flyball::node
