// Whether the server behind an APIService can be reached (upstream: the remote available condition
// controller). Reasons and messages are upstream's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "server/aggregation/remote_api.h"
#include "server/aggregation/remote_client.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// The condition Available, but for its times.
struct Availability {
  bool available = false;
  std::string reason, message;
};

// The reason if the other server does not answer as it should.
inline constexpr char kFailedDiscovery[] = "FailedDiscoveryCheck";

inline Availability LocallyAvailable() {
  return {true, "Local", "Local APIServices are always available"};
}

// What the objects of the cluster say about its Service; nullopt: nothing against it.
std::optional<Availability> CheckService(const Catalog& catalog, const RemoteApi& api);

// Asks for its discovery document, several times at once: a Service may have several endpoints, and one that
// answers is enough.
Task<Availability> CheckDiscovery(std::shared_ptr<RemoteClient> client, RemoteApiPtr api, Executor& executor);

}  // namespace flyball::server
