// PolicyTable: what the NetworkPolicies of a cluster mean for the pods of one node, as one table of nftables
// for both IP families. It takes pods, namespaces and policies one at a time and renders the difference to
// what it rendered before as one transaction.
//
// An isolated pod's address leads by a map to the chain of its group: all pods that the same policies select
// share one. That chain tries the chain of each policy, which accepts, and drops what none accepted. Egress
// is decided in chains before those of ingress, so that a packet between two pods of the node must pass both.
// Peers are sets of addresses: one for each different selector, kept as pods come and go.
//
// Thread-compatible. Makes text only. What it reads of objects is checked: names never become text of nft,
// addresses and ports only as numbers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/select/selector.h"
#include "api/types/core.h"
#include "api/types/networking.h"
#include "api/values/ip_address.h"
#include "network/services/service_port.h"
#include "network/services/tracked_map.h"

namespace flyball::network {

struct PolicyPort {
  std::string name;
  TransportProtocol protocol = TransportProtocol::kTcp;
  std::uint16_t port = 0;
  bool operator==(const PolicyPort&) const = default;
};

// What policies see of a pod. Values.
struct PolicyPod {
  std::string ns;
  std::vector<std::pair<std::string, std::string>> labels;  // sorted
  std::vector<api::IpAddress> ips;
  std::vector<PolicyPort> ports;  // those with names
  bool local = false;             // on this node
  bool operator==(const PolicyPod&) const = default;
};

// Nothing for pods that are not in the pod network: those with the node's, those without an address, those
// that have ended.
std::optional<PolicyPod> PolicyPodFrom(const Pod& pod, const std::string& node);

struct PolicyTableOptions {
  std::string table = "flyball-policy";
};

class PolicyTable {
 public:
  explicit PolicyTable(PolicyTableOptions options);
  ~PolicyTable();

  // "ns/name" each; nothing: it is gone.
  void SetPod(const std::string& key, std::optional<PolicyPod> pod);
  void SetNamespace(const std::string& name, const std::map<std::string, std::string>* labels);
  void SetPolicy(const std::string& key, const NetworkPolicy* policy);

  std::string RenderChanges();
  // The whole table, in place of what there is.
  std::string RenderReplacement();
  std::string RenderRemoval() const;
  // As of ServiceTable.
  std::string RenderStaleChains();
  bool has_stale_chains() const { return !stale_chains_.empty(); }

  std::size_t policies() const { return policies_.size(); }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  enum Direction { kIngress, kEgress };
  struct Policy;
  struct Peer;
  struct Group;

  std::unique_ptr<Policy> ReadPolicy(const std::string& key, const NetworkPolicy& policy);
  void WriteChains(Policy& policy, const NetworkPolicy& object);
  std::string RulesOf(Policy& policy, Direction direction, const std::vector<NetworkPolicyPort>& ports,
                      const std::vector<NetworkPolicyPeer>& peers);
  std::vector<std::string> PeerMatches(Policy& policy, Direction direction, IpFamily family,
                                       const std::vector<NetworkPolicyPeer>& peers);
  std::vector<std::string> PortMatches(Policy& policy, IpFamily family,
                                       const std::vector<NetworkPolicyPort>& ports);
  std::string UsePeer(Policy& policy, const NetworkPolicyPeer& peer);
  std::string UseNamedPort(Policy& policy, const std::string& name, TransportProtocol protocol);
  void DropPolicy(const std::string& key);

  bool Matches(const Peer& peer, const PolicyPod& pod) const;
  void Place(const PolicyPod& pod, bool there);
  void PlaceInPeer(const Peer& peer, const PolicyPod& pod, bool there);
  void PlaceInNamedPorts(const PolicyPod& pod, bool there);
  void Isolate(const PolicyPod& pod);
  void ForgetIsolation(const std::string& key, const PolicyPod& pod);
  void IsolateNamespace(const std::string& ns);
  std::string UseGroup(Direction direction, const std::vector<std::string>& policies);
  void DropUnusedGroups();
  void Put(const std::string& set, const std::string& element, const std::string& value, bool there);

  const PolicyTableOptions options_;
  std::map<std::string, PolicyPod> pods_;
  std::map<std::string, std::set<std::string>> local_by_ip_;  // an address may be of two pods for a moment
  std::map<std::string, Labels> namespaces_;
  std::map<std::string, std::unique_ptr<Policy>> policies_;
  std::map<std::string, Peer> peers_;  // by selectors
  std::map<std::pair<std::string, TransportProtocol>, std::pair<std::string, int>>
      named_ports_;                                                               // set, users
  std::map<std::pair<Direction, std::vector<std::string>>, std::string> groups_;  // chain
  std::uint64_t next_number_ = 1;

  TrackedMap<std::string, std::string> sets_;    // name: type
  TrackedMap<std::string, std::string> chains_;  // name: rules, a line each
  // Set and element: value, of maps. Those of sets are counted, for the same reason.
  TrackedMap<std::pair<std::string, std::string>, std::string> elements_;
  std::map<std::pair<std::string, std::string>, int> element_counts_;
  std::vector<std::string> stale_chains_;
};

}  // namespace flyball::network
