// NodeRoutes: the way to the pods of other nodes, from the Node objects: each node's range of pod addresses
// by way of the node's own address (upstream CNI plugins call this host-gw), directly if that is on a link of
// this node, else through a tunnel.
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
#include "network/pods/node_tunnel.h"
#include "network/pods/wireguard_tunnel.h"

namespace flyball::network {

enum class TunnelUse {
  kNever,   // all nodes are on one link
  kNeeded,  // for nodes that are on no link of this one
  kAlways,
};

// Whose routes.
struct RoutePlace {
  std::string node;  // its own pods need none; empty: the machine that is between nodes
  NetworkNamespace::Ptr ns;
  TunnelUse tunnels = TunnelUse::kNever;
  // Of the tunnel, if there is one: its link's name, the node's own address, and the size of packets.
  std::string tunnel_link{}, address{};
  std::uint32_t tunnel_mtu = 0;
  std::optional<WireguardKeys> wireguard{};  // the tunnel encrypts; then it is for all nodes
};

// By destination.
using NodeRouteMap = std::map<std::string, NodeWay>;
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
    TunnelUse tunnels = TunnelUse::kNever;
    std::unique_ptr<NodeTunnel> tunnel{};
    std::string said_key{};  // in the node's annotation, by this program
  };
  // What handlers and the thread that does the work share.
  struct State {
    Mutex mu;
    std::vector<Place> places FLYBALL_GUARDED_BY(mu);
    bool stopped FLYBALL_GUARDED_BY(mu) = false;
  };

  explicit NodeRoutes(const Client& client);
  static Result<std::unique_ptr<NodeTunnel>> OpenTunnel(const RoutePlace& place,
                                                        const std::shared_ptr<Netlink>& netlink);
  static void Sync(const Client& client, State& state, const std::vector<std::shared_ptr<const Node>>& nodes);
  static void SayKey(const Client& client, Place& place,
                     const std::vector<std::shared_ptr<const Node>>& nodes);
  static void Apply(Place& place, const NodeRouteMap& wanted);
  static void SetTunnelSource(Place& place, const std::vector<std::shared_ptr<const Node>>& nodes);
  static Result<Route> RouteBy(Place& place, const api::Cidr& range, const NodeWay& way);
  static Result<bool> NeedsTunnel(Place& place, const api::IpAddress& machine);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  InformerFactory informers_;
  std::shared_ptr<HandlerRegistration> registration_;
};

}  // namespace flyball::network
