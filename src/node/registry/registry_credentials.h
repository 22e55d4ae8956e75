// Credentials for registries, as Docker's configuration and image pull secrets have them (upstream:
// credentialprovider).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Of `~/.docker/config.json` and secrets of type kubernetes.io/dockerconfigjson: `{"auths": {...}}`.
// BadRequest if it is not that, or an entry's `auth` is not "user:password" in base64.
Result<std::vector<RegistryCredentials>> ParseDockerConfig(std::string_view text);
// Of the older `.dockercfg` and secrets of type kubernetes.io/dockercfg: the entries themselves.
Result<std::vector<RegistryCredentials>> ParseLegacyDockerConfig(std::string_view text);

// Those that are for a repository ("docker.io/library/busybox"), the most specific first (upstream:
// BasicDockerKeyring.Lookup). Wildcards match within a part of the host's name.
std::vector<RegistryCredentials> CredentialsFor(const std::vector<RegistryCredentials>& all,
                                                const std::string& repository);

// What the machine itself has: `.docker/config.json` of this user's home. Empty if there is none, or none
// that can be read.
std::vector<RegistryCredentials> MachineCredentials();

// Identifies credentials without telling them.
std::string CredentialsDigest(const RegistryCredentials& credentials);

}  // namespace flyball::node
