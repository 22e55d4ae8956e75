// Peers: says in the store that this API server is alive, and keeps the endpoints of the `kubernetes` Service
// those of all servers that are (upstream: the lease endpoint reconciler, and identity leases).
//
// Every ten seconds a server renews its entry under /registry/masterleases, which expires after fifteen, and
// its Lease `apiserver-<hash>` in kube-system. Servers that end take themselves out at once. Leases of
// servers that have not been heard of for an hour are removed.
//
// Only for stores that several servers share: a server with a store of its own is its only endpoint.
#pragma once

#include <memory>
#include <string>

#include "server/registry/server_state.h"

namespace flyball::server {

// The name of the Lease of the server on that machine, the one kube-apiserver has there too.
std::string ServerIdentity(const std::string& hostname);

struct PeerOptions {
  std::string address;  // where this server is reached
  int port = 0;
  std::string hostname;
};

// Thread-safe; must not outlive the state.
class Peers {
 public:
  Peers(ServerState& state, PeerOptions options);
  ~Peers();

  // Blocks until this server is among the endpoints. From then on it renews by itself, on the state's
  // workers.
  Status Start();
  // Takes this server out of the endpoints, which may take as long as the store does. Once is enough.
  void Stop();

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace flyball::server
