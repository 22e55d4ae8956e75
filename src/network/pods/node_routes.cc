#include "network/pods/node_routes.h"

#include <algorithm>

#include "base/observe/log.h"
#include "network/pods/address_pool.h"

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

std::string WireguardKeyOf(const Node& node) {
  const auto found = node.metadata.annotations.find(kWireguardKeyAnnotation);
  return found == node.metadata.annotations.end() ? std::string() : found->second;
}

api::IpAddress AddressOfNoPod(const api::Cidr& range) {
  return range.address.is_v4 ? range.Network() : AddressAt(range, AddressPool::kMostAddresses);
}

// What an earlier program has made.
NodeRouteMap RoutesThere(Netlink& netlink, const std::vector<std::string>& pod_cidrs) {
  NodeRouteMap found;
  const auto routes = netlink.ListRoutes();
  if (!routes) return found;
  for (const Route& route : *routes) {
    // Without a gateway and to one address: a pod of this node.
    const bool to_pod =
        !route.gateway && route.destination.prefix == (route.destination.address.is_v4 ? 32 : 128);
    if (route.protocol != kOurRoutes || to_pod) continue;
    const bool ours = std::any_of(pod_cidrs.begin(), pod_cidrs.end(), [&](const std::string& text) {
      const auto range = api::ParseCidr(text);
      return range && range->address.is_v4 == route.destination.address.is_v4 &&
             range->prefix <= route.destination.prefix && range->Contains(route.destination.address);
    });
    if (!ours) continue;
    const std::string gateway = route.gateway ? route.gateway->ToString() : std::string();
    found[TextOf(route.destination)] = {gateway, route.gateway && route.gateway->is_v4 ? gateway : ""};
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
      if (!gateway.empty()) routes[TextOf(*range)] = {gateway, AddressOf(*node, true), WireguardKeyOf(*node)};
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
      FLYBALL_ASSIGN(added.tunnel, place.ns->Run([&] { return OpenTunnel(place, added.netlink); }));
    }
  }
  const auto nodes = routes->informers_.For<Node>();
  const auto sync = [client, state = routes->state_, lister = nodes.lister(),
                     executor = &client.runtime().worker_executor()] {
    executor->Post([client, state, lister] { Sync(client, *state, lister.List()); });
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

Result<std::unique_ptr<NodeTunnel>> NodeRoutes::OpenTunnel(const RoutePlace& place,
                                                           const std::shared_ptr<Netlink>& netlink) {
  if (place.wireguard)
    return WireguardTunnel::Open(netlink, place.tunnel_link, *place.wireguard, place.tunnel_mtu);
  const auto own = api::ParseIp(place.address);
  if (!own) return Unexpected(BadRequest("\"" + place.address + "\" is no address of a node"));
  return VxlanTunnel::Open(netlink, place.tunnel_link, *own, place.tunnel_mtu);
}

// Other nodes need it to speak to this one.
void NodeRoutes::SayKey(const Client& client, Place& place,
                        const std::vector<std::shared_ptr<const Node>>& nodes) {
  const std::string key = place.tunnel->public_key();
  const auto own = std::find_if(nodes.begin(), nodes.end(),
                                [&](const auto& node) { return node->metadata.name == place.node; });
  if (key.empty() || own == nodes.end() || WireguardKeyOf(**own) == key || place.said_key == key) return;
  const json::Value patch =
      json::Object{{"metadata", json::Object{{"annotations", json::Object{{kWireguardKeyAnnotation, key}}}}}};
  const auto said = client.Of<Node>().Patch("", place.node, PatchType::kMerge, patch);
  if (said)
    place.said_key = key;
  else
    log::Error("public key of the node not published", {{"error", said.error().message()}});
}

void NodeRoutes::Sync(const Client& client, State& state,
                      const std::vector<std::shared_ptr<const Node>>& nodes) {
  MutexLock lock(state.mu);
  if (state.stopped) return;
  for (Place& place : state.places) {
    if (place.tunnel) SetTunnelSource(place, nodes);
    if (place.tunnel) SayKey(client, place, nodes);
    Apply(place, RoutesFor(place.node, nodes));
  }
}

// Addresses of its own ranges that no pod has: answers come back the same way.
void NodeRoutes::SetTunnelSource(Place& place, const std::vector<std::shared_ptr<const Node>>& nodes) {
  for (const auto& node : nodes) {
    if (node->metadata.name != place.node) continue;
    for (const std::string& text : node->spec.pod_cidrs) {
      const auto range = api::ParseCidr(text);
      if (!range) continue;
      if (const Status set = place.tunnel->SetSource(AddressOfNoPod(*range)); !set)
        log::Error("tunnel between nodes has no address", {{"error", set.error().message()}});
    }
  }
}

Result<bool> NodeRoutes::NeedsTunnel(Place& place, const api::IpAddress& machine) {
  if (place.tunnels == TunnelUse::kAlways) return true;
  constexpr int kHostBits = 32;
  FLYBALL_ASSIGN(const auto addresses, place.netlink->ListAddresses());
  return std::none_of(addresses.begin(), addresses.end(), [&](const LinkAddress& of) {
    return of.address.address.is_v4 && of.address.prefix < kHostBits && of.link != place.tunnel->link() &&
           of.address.Contains(machine);
  });
}

Result<Route> NodeRoutes::RouteBy(Place& place, const api::Cidr& range, const NodeWay& way) {
  const Route direct{.destination = range, .gateway = api::ParseIp(way.gateway)};
  const auto machine = api::ParseIp(way.machine);
  if (!place.tunnel || !machine) return direct;
  FLYBALL_ASSIGN(const bool tunnel, NeedsTunnel(place, *machine));
  if (!tunnel) return direct;
  return place.tunnel->RouteTo(range, way);
}

void NodeRoutes::Apply(Place& place, const NodeRouteMap& wanted) {
  const auto failed = [&](const std::string& range, const Status& done) {
    if (!done)
      log::Error("route to the pods of a node not set",
                 {{"node", place.node}, {"range", range}, {"error", done.error().message()}});
    return !done;
  };
  for (const auto& [range, way] : NodeRouteMap(place.applied)) {
    if (wanted.contains(range)) continue;
    const Route route{.destination = *api::ParseCidr(range), .gateway = api::ParseIp(way.gateway)};
    if (failed(range, place.netlink->DeleteRoute(route))) continue;
    if (place.tunnel) (void)place.tunnel->Forget(route.destination, way);
    place.applied.erase(range);
  }
  for (const auto& [range, way] : wanted) {
    const auto known = place.applied.find(range);
    // Those of a tunnel are set again: an earlier program may have left the route without the tunnel's
    // entries.
    if (known != place.applied.end() && known->second == way && !place.tunnel) continue;
    const auto route = RouteBy(place, *api::ParseCidr(range), way);
    if (!failed(range, route ? place.netlink->ReplaceRoute(*route) : Unexpected(route.error())))
      place.applied[range] = way;
  }
}

}  // namespace flyball::network
