#include "network/pods/node_routes.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::network {
namespace {

std::string TextOf(const api::Cidr& range) {
  return range.Network().ToString() + "/" + std::to_string(range.prefix);
}

std::string AddressOf(const Node& node, bool v4) {
  for (const NodeAddress& address : node.status.addresses) {
    const auto ip = api::ParseIp(address.address);
    if (address.type == "InternalIP" && ip && ip->is_v4 == v4) return ip->ToString();
  }
  return {};
}

// What an earlier program has made.
NodeRouteMap RoutesThere(Netlink& netlink, const std::vector<std::string>& pod_cidrs) {
  NodeRouteMap found;
  const auto routes = netlink.ListRoutes();
  if (!routes) return found;
  for (const Route& route : *routes) {
    if (route.protocol != kOurRoutes || !route.gateway) continue;
    const bool ours = std::any_of(pod_cidrs.begin(), pod_cidrs.end(), [&](const std::string& text) {
      const auto range = api::ParseCidr(text);
      return range && range->address.is_v4 == route.destination.address.is_v4 &&
             range->prefix <= route.destination.prefix && range->Contains(route.destination.address);
    });
    if (ours) found[TextOf(route.destination)] = route.gateway->ToString();
  }
  return found;
}

}  // namespace

NodeRouteMap RoutesFor(const std::string& own, const std::vector<std::shared_ptr<const Node>>& nodes) {
  NodeRouteMap routes;
  for (const auto& node : nodes) {
    if (node->metadata.name == own) continue;
    for (const std::string& text : node->spec.pod_cidrs) {
      const auto range = api::ParseCidr(text);
      if (!range) continue;
      const std::string gateway = AddressOf(*node, range->address.is_v4);
      if (!gateway.empty()) routes[TextOf(*range)] = gateway;
    }
  }
  return routes;
}

NodeRoutes::NodeRoutes(const Client& client)
    : informers_(client, FactoryOptions{.drop_managed_fields = true}) {}

Result<std::unique_ptr<NodeRoutes>> NodeRoutes::Start(Client client, const std::vector<RoutePlace>& places,
                                                      const std::vector<std::string>& pod_cidrs) {
  auto routes = std::unique_ptr<NodeRoutes>(new NodeRoutes(client));
  {
    MutexLock lock(routes->state_->mu);
    for (const RoutePlace& place : places) {
      FLYBALL_ASSIGN(std::shared_ptr<Netlink> netlink, place.ns->Run([] { return Netlink::Open(); }));
      NodeRouteMap there = RoutesThere(*netlink, pod_cidrs);
      auto& added = routes->state_->places.emplace_back(
          Place{place.node, std::move(netlink), std::move(there), place.tunnels});
      if (place.tunnels == TunnelUse::kNever) continue;
      const auto own = api::ParseIp(place.address);
      if (!own) return Unexpected(BadRequest("\"" + place.address + "\" is no address of a node"));
      FLYBALL_ASSIGN(added.tunnel,
                     NodeTunnel::Open(added.netlink, place.tunnel_link, *own, place.tunnel_mtu));
    }
  }
  const auto nodes = routes->informers_.For<Node>();
  const auto sync = [state = routes->state_, lister = nodes.lister(),
                     executor = &client.runtime().worker_executor()] {
    executor->Post([state, lister] { Sync(*state, lister.List()); });
  };
  EventHandler<Node> handler;
  handler.on_add = [sync](const std::shared_ptr<const Node>&, bool) { sync(); };
  handler.on_update = [sync](const std::shared_ptr<const Node>& old,
                             const std::shared_ptr<const Node>& node) {
    if (RoutesFor("", {old}) != RoutesFor("", {node})) sync();
  };
  handler.on_delete = [sync](const std::shared_ptr<const Node>&, bool) { sync(); };
  routes->registration_ = nodes.AddHandler(std::move(handler));
  routes->informers_.Start();
  return routes;
}

NodeRoutes::~NodeRoutes() {
  if (registration_) registration_->Remove();
  informers_.Stop();
  MutexLock lock(state_->mu);
  state_->stopped = true;
}

void NodeRoutes::Sync(State& state, const std::vector<std::shared_ptr<const Node>>& nodes) {
  MutexLock lock(state.mu);
  if (state.stopped) return;
  for (Place& place : state.places) {
    if (place.tunnel) SetTunnelSource(place, nodes);
    Apply(place, RoutesFor(place.node, nodes));
  }
}

// The first address of its own range, which no pod has: answers come back the same way.
void NodeRoutes::SetTunnelSource(Place& place, const std::vector<std::shared_ptr<const Node>>& nodes) {
  for (const auto& node : nodes) {
    const auto range = api::ParseCidr(node->spec.pod_cidr);
    if (node->metadata.name != place.node || !range || !range->address.is_v4) continue;
    if (const Status set = place.tunnel->SetSource(range->Network()); !set)
      log::Error("tunnel between nodes has no address", {{"error", set.error().message()}});
  }
}

Result<bool> NodeRoutes::NeedsTunnel(Place& place, const api::IpAddress& gateway) {
  if (!place.tunnel || !gateway.is_v4) return false;
  if (place.tunnels == TunnelUse::kAlways) return true;
  constexpr int kHostBits = 32;
  FLYBALL_ASSIGN(const auto addresses, place.netlink->ListAddresses());
  return std::none_of(addresses.begin(), addresses.end(), [&](const LinkAddress& of) {
    return of.address.address.is_v4 && of.address.prefix < kHostBits && of.link != place.tunnel->link() &&
           of.address.Contains(gateway);
  });
}

Result<Route> NodeRoutes::RouteBy(Place& place, const api::Cidr& range, const api::IpAddress& gateway) {
  Route route{.destination = range, .gateway = gateway};
  FLYBALL_ASSIGN(const bool tunnel, NeedsTunnel(place, gateway));
  if (!tunnel) return route;
  FLYBALL_TRY(place.tunnel->AddNode(gateway));
  route.link = place.tunnel->link();
  route.on_link = true;
  return route;
}

void NodeRoutes::Apply(Place& place, const NodeRouteMap& wanted) {
  const auto failed = [&](const std::string& range, const Status& done) {
    if (!done)
      log::Error("route to the pods of a node not set",
                 {{"node", place.node}, {"range", range}, {"error", done.error().message()}});
    return !done;
  };
  for (const auto& [range, gateway] : NodeRouteMap(place.applied)) {
    if (wanted.contains(range)) continue;
    const Route route{.destination = *api::ParseCidr(range), .gateway = api::ParseIp(gateway)};
    if (failed(range, place.netlink->DeleteRoute(route))) continue;
    if (place.tunnel) (void)place.tunnel->RemoveNode(*route.gateway);
    place.applied.erase(range);
  }
  for (const auto& [range, gateway] : wanted) {
    const auto known = place.applied.find(range);
    // Those of a tunnel are set again: an earlier program may have left the route without the tunnel's
    // entries.
    if (known != place.applied.end() && known->second == gateway && !place.tunnel) continue;
    const auto route = RouteBy(place, *api::ParseCidr(range), *api::ParseIp(gateway));
    if (!failed(range, route ? place.netlink->ReplaceRoute(*route) : Unexpected(route.error())))
      place.applied[range] = gateway;
  }
}

}  // namespace flyball::network
