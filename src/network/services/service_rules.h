// ServiceRules: what the packet filter should hold for one Service in one IP family, as a value. Where
// packets arrive (places), where they go (targets in numbered slots), and the chains that only this Service
// has. Thread-compatible.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "network/services/service_endpoint.h"
#include "network/services/service_port.h"

namespace flyball::network {

// How packets from pods of this node are told from others (upstream: LocalTrafficDetector). At most one of
// the two is set; none: nobody is told apart.
struct LocalTraffic {
  std::vector<api::Cidr> cidrs;
  std::string interface;  // a name, or the beginning of one and '*'

  // The condition in nft's words; "" if it cannot be told in this family.
  std::string Matches(IpFamily family) const;
  std::string MatchesNot(IpFamily family) const;
};

// Values; the same for all Services of a table.
struct ServiceTableOptions {
  IpFamily family = IpFamily::kV4;
  std::string table = "flyball-services";
  std::uint32_t masquerade_mark = 0x4000;
  bool masquerade_all = false;
  LocalTraffic local{};
  // False: NodePorts are open at the addresses that SetNodePortAddresses gives only.
  bool node_ports_everywhere = true;
};

// Where packets to a Service arrive.
struct Place {
  bool node_port = false;  // at any address of the node; otherwise at `address`
  api::IpAddress address{};
  TransportProtocol protocol = TransportProtocol::kTcp;
  std::uint16_t port = 0;
  bool operator==(const Place&) const = default;
  bool operator<(const Place& other) const;
};

using Targets = std::shared_ptr<const std::vector<Target>>;  // the index is the slot

// What becomes of the packets that arrive at a place.
struct Frontend {
  enum class Route {
    kNone,           // no endpoints
    kInternal,       // to a target
    kExternal,       // the same, masqueraded
    kExternalLocal,  // to a local target; from this node or its pods to any
  };
  enum class Refusal { kNone, kReject, kDrop };

  Route route = Route::kNone;
  Refusal refusal = Refusal::kNone;
  std::string chain;     // the Service's own, instead of a shared one by route and number of targets
  std::string firewall;  // the chain that turns away other sources; "" if there is none
  Targets targets, local;

  bool operator==(const Frontend& other) const;
};

// A local endpoint that may reach itself through a Service.
struct Hairpin {
  Target target;
  TransportProtocol protocol = TransportProtocol::kTcp;
  bool operator==(const Hairpin&) const = default;
  bool operator<(const Hairpin& other) const;
};

struct ServiceRules {
  struct PortTargets {
    Targets cluster, local;
  };
  std::vector<api::IpAddress> cluster_ips;
  std::map<Place, Frontend> frontends;
  std::vector<Hairpin> hairpins;
  std::map<std::string, std::string> chains;       // name: rules, a line each
  std::map<std::string, std::int32_t> affinities;  // name of the set: seconds
  std::map<std::string, PortTargets> targets;      // by port, so that slots stay

  // Of the Service, not of the packet filter.
  std::map<Place, Targets> udp_serving;  // who may still get flows that were sent to a place of UDP; sorted
  std::uint16_t health_check_node_port = 0;
  int local_ready = 0;                                      // endpoints that a health check counts
  bool dropped_internal = false, dropped_external = false;  // by a Local policy without local endpoints

  bool empty() const { return cluster_ips.empty(); }
};

// `slots` with what is in `wanted`: what stays keeps its slot, so that few elements change.
std::vector<Target> KeepSlots(const std::vector<Target>& slots, std::vector<Target> wanted);

// `node_addresses` are the node's own, for firewalls that let it in. `before`: the last rules of this
// Service.
ServiceRules BuildServiceRules(const Service& service, const EndpointSlices& slices,
                               const ServiceTableOptions& options, const NodePlace& place,
                               const std::vector<api::IpAddress>& node_addresses, const ServiceRules& before);

}  // namespace flyball::network
