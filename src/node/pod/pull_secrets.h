// The credentials for registries that a pod names (spec.imagePullSecrets).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "client/client.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

struct PullSecrets {
  std::vector<RegistryCredentials> credentials;
  std::vector<std::string> missing;  // "namespace/name" of those that could not be had, or are damaged
};

// Fetches the secrets, then calls `done`, once, from any thread. Secrets of other types are passed over, as
// upstream does.
void FetchPullSecrets(const Client& client, const std::shared_ptr<const Pod>& pod,
                      std::function<void(PullSecrets)> done);

}  // namespace flyball::node
