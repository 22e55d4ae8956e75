// Where a pod's streams are served: its container, its node, and the node's own server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "json/value.h"
#include "server/forward/transport_cache.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// The container that is meant; BadRequest if the pod has none of that name, or several and no name was given.
Result<std::string> ContainerOf(const json::Value& pod, std::string_view wanted);

// "10.0.0.1" and 10250 of a node's status. An error if it says neither.
struct NodeAddress {
  std::string host;
  int port = 0;
  std::string url() const;  // https://host:port
};
Result<NodeAddress> AddressOf(ServerState& state, const std::string& node_name);

// With the API server's certificate for nodes, as far as it has one, to nodes that the CA vouches for (empty:
// to any).
std::shared_ptr<TransportCache> NewNodeTransports(const std::string& certificate_pem,
                                                  const std::string& key_pem, const std::string& ca_pem);

}  // namespace flyball::server
