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
      routes->state_->places.push_back({place.node, std::move(netlink), std::move(there)});
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
  for (Place& place : state.places) Apply(place, RoutesFor(place.node, nodes));
}

void NodeRoutes::Apply(Place& place, const NodeRouteMap& wanted) {
  const auto failed = [&](const std::string& range, const Status& done) {
    if (!done)
      log::Error("route to the pods of a node not set",
                 {{"node", place.node}, {"range", range}, {"error", done.error().message()}});
    return !done;
  };
  for (const auto& [range, gateway] : NodeRouteMap(place.applied))
    if (!wanted.contains(range) &&
        !failed(range, place.netlink->DeleteRoute(
                           {.destination = *api::ParseCidr(range), .gateway = api::ParseIp(gateway)})))
      place.applied.erase(range);
  for (const auto& [range, gateway] : wanted) {
    const auto known = place.applied.find(range);
    if (known != place.applied.end() && known->second == gateway) continue;
    if (!failed(range, place.netlink->ReplaceRoute(
                           {.destination = *api::ParseCidr(range), .gateway = api::ParseIp(gateway)})))
      place.applied[range] = gateway;
  }
}

}  // namespace flyball::network
