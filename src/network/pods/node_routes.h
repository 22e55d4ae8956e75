// NodeRoutes: the way to the pods of other nodes, from the Node objects: each node's range of pod addresses
// by way of the node's own address (upstream CNI plugins call this host-gw). Requires that nodes are on one
// link.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "client/client.h"
#include "informer/informer_factory.h"
#include "network/netlink/netlink.h"
#include "network/node_network.h"

namespace flyball::network {

// Whose routes.
struct RoutePlace {
  std::string node;  // its own pods need none; empty: the machine that is between nodes
  NetworkNamespace::Ptr ns;
};

// Destination to gateway.
using NodeRouteMap = std::map<std::string, std::string>;
// The routes that a node (or with an empty name nobody) needs to the others.
NodeRouteMap RoutesFor(const std::string& own, const std::vector<std::shared_ptr<const Node>>& nodes);

// Thread-safe. Routes stay when it goes: pods do, too.
class NodeRoutes {
 public:
  // Takes over routes of an earlier program within the cluster's ranges.
  static Result<std::unique_ptr<NodeRoutes>> Start(Client client, const std::vector<RoutePlace>& places,
                                                   const std::vector<std::string>& pod_cidrs);
  ~NodeRoutes();

 private:
  struct Place {
    std::string node;
    std::shared_ptr<Netlink> netlink;
    NodeRouteMap applied;
  };
  // What handlers and the thread that does the work share.
  struct State {
    Mutex mu;
    std::vector<Place> places FLYBALL_GUARDED_BY(mu);
    bool stopped FLYBALL_GUARDED_BY(mu) = false;
  };

  explicit NodeRoutes(const Client& client);
  static void Sync(State& state, const std::vector<std::shared_ptr<const Node>>& nodes);
  static void Apply(Place& place, const NodeRouteMap& wanted);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  InformerFactory informers_;
  std::shared_ptr<HandlerRegistration> registration_;
};

}  // namespace flyball::network
