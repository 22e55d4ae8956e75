#include "network/policy/policy_table.h"

#include <algorithm>

#include "base/observe/log.h"
#include "json/json.h"
#include "network/services/service_chains.h"

namespace flyball::network {
namespace {

constexpr IpFamily kFamilies[] = {IpFamily::kV4, IpFamily::kV6};

std::string OfFamilyName(const std::string& set, IpFamily family) {
  return set + (family == IpFamily::kV4 ? "-4" : "-6");
}

std::string AddressTypeOf(IpFamily family) {
  return family == IpFamily::kV4 ? "ipv4_addr" : "ipv6_addr";
}

std::vector<std::pair<std::string, std::string>> SortedLabels(
    const std::map<std::string, std::string>& labels) {
  return {labels.begin(), labels.end()};
}

// The server has checked it; one that cannot be read selects nothing.
api::LabelSelector SelectorFrom(const LabelSelector& selector) {
  auto read = api::LabelSelector::FromObject(ToJson(selector));
  if (read) return std::move(*read);
  log::Warning("a NetworkPolicy has a selector that cannot be read; it selects nothing",
               {{"error", read.error().message()}});
  return api::LabelSelector::Nothing();
}

bool Governs(const NetworkPolicySpec& spec, std::string_view type) {
  const auto& types = spec.policy_types;
  if (types.empty()) return type == "Ingress" || !spec.egress.empty();
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<api::IpAddress> IpsOf(const Pod& pod) {
  std::vector<api::IpAddress> ips;
  for (const PodIP& ip : pod.status.pod_ips)
    if (const auto address = api::ParseIp(ip.ip)) ips.push_back(*address);
  if (ips.empty())
    if (const auto address = api::ParseIp(pod.status.pod_ip)) ips.push_back(*address);
  return ips;
}

// Of the containers that run as long as the pod: sidecars too.
std::vector<PolicyPort> NamedPortsOf(const Pod& pod) {
  std::vector<PolicyPort> ports;
  const auto add = [&](const std::vector<Container>& containers) {
    for (const Container& container : containers)
      for (const ContainerPort& port : container.ports) {
        const auto protocol = ParseProtocol(port.protocol);
        const auto number = ParsePort(port.container_port);
        if (!port.name.empty() && protocol && number) ports.push_back({port.name, *protocol, *number});
      }
  };
  add(pod.spec.containers);
  add(pod.spec.init_containers);
  return ports;
}

// "ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16 } "; nothing if it is of the other family or malformed.
std::optional<std::string> BlockMatch(const IPBlock& block, const std::string& field, IpFamily family) {
  const auto network = api::ParseCidr(block.cidr);
  if (!network || IpFamilyOf(network->address) != family) return std::nullopt;
  std::vector<api::Cidr> except;
  for (const std::string& text : block.except)
    if (const auto part = api::ParseCidr(text); part && IpFamilyOf(part->address) == family)
      except.push_back(*part);
  std::string match = network->prefix == 0 ? "" : field + " " + CidrText(*network) + " ";
  if (!except.empty()) match += field + " != { " + CidrSetText(std::move(except)) + " } ";
  return match;
}

}  // namespace

std::optional<PolicyPod> PolicyPodFrom(const Pod& pod, const std::string& node) {
  if (pod.spec.host_network || pod.status.phase == "Succeeded" || pod.status.phase == "Failed")
    return std::nullopt;
  PolicyPod out;
  out.ips = IpsOf(pod);
  if (out.ips.empty()) return std::nullopt;
  out.ns = pod.metadata.namespace_;
  out.labels = SortedLabels(pod.metadata.labels);
  out.ports = NamedPortsOf(pod);
  out.local = pod.spec.node_name == node;
  return out;
}

struct PolicyTable::Policy {
  std::string ns;
  api::LabelSelector pods;
  std::string chains[2];           // by direction; "" if it does not govern that
  std::vector<std::string> peers;  // keys of those it uses
  std::vector<std::pair<std::string, TransportProtocol>> named_ports;

  bool Selects(const PolicyPod& pod) const { return pod.ns == ns && pods.Matches(pod.labels); }
};

// Pods by selectors.
struct PolicyTable::Peer {
  std::string set;  // without the family
  int users = 0;
  std::string ns;  // of the pods; "": those that the selector of namespaces has
  api::LabelSelector namespaces, pods;
};

PolicyTable::PolicyTable(PolicyTableOptions options) : options_(std::move(options)) {}
PolicyTable::~PolicyTable() = default;

void PolicyTable::Put(const std::string& set, const std::string& element, const std::string& value,
                      bool there) {
  const std::pair<std::string, std::string> key{set, element};
  int& count = element_counts_[key];
  count += there ? 1 : -1;
  if (count > 0) return elements_.Set(key, value);
  element_counts_.erase(key);
  elements_.Erase(key);
}

bool PolicyTable::Matches(const Peer& peer, const PolicyPod& pod) const {
  if (!peer.pods.Matches(pod.labels)) return false;
  if (!peer.ns.empty()) return peer.ns == pod.ns;
  const auto labels = namespaces_.find(pod.ns);
  return labels != namespaces_.end() && peer.namespaces.Matches(labels->second);
}

void PolicyTable::PlaceInPeer(const Peer& peer, const PolicyPod& pod, bool there) {
  if (!Matches(peer, pod)) return;
  for (const api::IpAddress& ip : pod.ips)
    Put(OfFamilyName(peer.set, IpFamilyOf(ip)), ip.ToString(), "", there);
}

void PolicyTable::PlaceInNamedPorts(const PolicyPod& pod, bool there) {
  for (const PolicyPort& port : pod.ports) {
    const auto used = named_ports_.find({port.name, port.protocol});
    if (used == named_ports_.end()) continue;
    for (const api::IpAddress& ip : pod.ips)
      Put(OfFamilyName(used->second.first, IpFamilyOf(ip)),
          ip.ToString() + " . " + std::string(ProtocolName(port.protocol)) + " . " +
              std::to_string(port.port),
          "", there);
  }
}

// Everything that leads to a pod by its address, besides its isolation.
void PolicyTable::Place(const PolicyPod& pod, bool there) {
  for (const auto& [key, peer] : peers_) PlaceInPeer(peer, pod, there);
  PlaceInNamedPorts(pod, there);
  if (!pod.local) return;
  for (const api::IpAddress& ip : pod.ips)
    Put(OfFamilyName("selves", IpFamilyOf(ip)), ip.ToString() + " . " + ip.ToString(), "", there);
}

// Which chains a pod of this node is subject to now.
void PolicyTable::Isolate(const PolicyPod& pod) {
  if (!pod.local) return;
  for (const Direction direction : {kIngress, kEgress}) {
    std::vector<std::string> chains;
    for (const auto& [key, policy] : policies_)
      if (!policy->chains[direction].empty() && policy->Selects(pod))
        chains.push_back(policy->chains[direction]);
    const std::string verdict = chains.empty() ? "" : "goto " + UseGroup(direction, chains);
    for (const api::IpAddress& ip : pod.ips) {
      const std::pair<std::string, std::string> key{
          OfFamilyName(direction == kIngress ? "ingress" : "egress", IpFamilyOf(ip)), ip.ToString()};
      verdict.empty() ? elements_.Erase(key) : elements_.Set(key, verdict);
    }
  }
}

void PolicyTable::ForgetIsolation(const std::string& key, const PolicyPod& pod) {
  if (!pod.local) return;
  for (const api::IpAddress& ip : pod.ips) {
    const std::string text = ip.ToString();
    for (const char* map : {"ingress", "egress"}) elements_.Erase({OfFamilyName(map, IpFamilyOf(ip)), text});
    auto& owners = local_by_ip_[text];
    owners.erase(key);
    if (owners.empty())
      local_by_ip_.erase(text);
    else
      Isolate(pods_.at(*owners.begin()));
  }
}

void PolicyTable::IsolateNamespace(const std::string& ns) {
  for (const auto& [key, pod] : pods_)
    if (pod.ns == ns) Isolate(pod);
}

std::string PolicyTable::UseGroup(Direction direction, const std::vector<std::string>& policies) {
  std::string& chain = groups_[{direction, policies}];
  if (!chain.empty()) return chain;
  chain = (direction == kIngress ? "to-" : "from-") + std::to_string(next_number_++);
  std::string rules;
  for (const std::string& policy : policies) rules += "jump " + policy + "\n";
  chains_.Set(chain, rules + "drop\n");
  return chain;
}

// Those of policies that are gone. Others stay: pods of the same kind come again.
void PolicyTable::DropUnusedGroups() {
  std::set<std::string> live;
  for (const auto& [key, policy] : policies_)
    live.insert(std::begin(policy->chains), std::end(policy->chains));
  std::erase_if(groups_, [&](const auto& group) {
    const auto& policies = group.first.second;
    const bool gone = std::any_of(policies.begin(), policies.end(),
                                  [&](const std::string& policy) { return live.count(policy) == 0; });
    if (gone) chains_.Erase(group.second);
    return gone;
  });
}

void PolicyTable::SetPod(const std::string& key, std::optional<PolicyPod> pod) {
  const auto known = pods_.find(key);
  if (pod ? known != pods_.end() && known->second == *pod : known == pods_.end()) return;
  if (known != pods_.end()) {
    Place(known->second, false);
    const PolicyPod before = std::move(known->second);
    pods_.erase(known);
    ForgetIsolation(key, before);
  }
  if (!pod) return;
  Place(*pod, true);
  if (pod->local)
    for (const api::IpAddress& ip : pod->ips) local_by_ip_[ip.ToString()].insert(key);
  Isolate(*pod);
  pods_.insert_or_assign(key, std::move(*pod));
}

void PolicyTable::SetNamespace(const std::string& name, const std::map<std::string, std::string>* labels) {
  const auto known = namespaces_.find(name);
  const std::optional<Labels> now = labels ? std::optional<Labels>(SortedLabels(*labels)) : std::nullopt;
  if (known == namespaces_.end() ? !now : now == known->second) return;
  const auto place = [&](bool there) {
    for (const auto& [key, pod] : pods_)
      if (pod.ns == name)
        for (const auto& [selectors, peer] : peers_)
          if (peer.ns.empty()) PlaceInPeer(peer, pod, there);
  };
  place(false);
  if (now)
    namespaces_[name] = *now;
  else
    namespaces_.erase(name);
  place(true);
}

// The name of the set, without the family.
std::string PolicyTable::UsePeer(Policy& policy, const NetworkPolicyPeer& selectors) {
  const std::string key =
      (selectors.namespace_selector ? "n" + json::EqualityText(ToJson(*selectors.namespace_selector))
                                    : "=" + policy.ns) +
      "\n" + (selectors.pod_selector ? json::EqualityText(ToJson(*selectors.pod_selector)) : "");
  const auto [known, added] = peers_.try_emplace(key);
  Peer& peer = known->second;
  ++peer.users;
  policy.peers.push_back(key);
  if (!added) return peer.set;
  peer.set = "peer-" + std::to_string(next_number_++);
  if (selectors.namespace_selector)
    peer.namespaces = SelectorFrom(*selectors.namespace_selector);
  else
    peer.ns = policy.ns;
  if (selectors.pod_selector) peer.pods = SelectorFrom(*selectors.pod_selector);
  for (const IpFamily family : kFamilies) sets_.Set(OfFamilyName(peer.set, family), AddressTypeOf(family));
  for (const auto& [name, pod] : pods_) PlaceInPeer(peer, pod, true);
  return peer.set;
}

std::string PolicyTable::UseNamedPort(Policy& policy, const std::string& name, TransportProtocol protocol) {
  const auto [known, added] = named_ports_.try_emplace({name, protocol});
  auto& [set, users] = known->second;
  ++users;
  policy.named_ports.push_back(known->first);
  if (!added) return set;
  set = "port-" + std::to_string(next_number_++);
  for (const IpFamily family : kFamilies)
    sets_.Set(OfFamilyName(set, family), AddressTypeOf(family) + " . inet_proto . inet_service");
  for (const auto& [key, pod] : pods_) {
    PolicyPod only = pod;
    std::erase_if(only.ports,
                  [&](const PolicyPort& port) { return port.name != name || port.protocol != protocol; });
    PlaceInNamedPorts(only, true);
  }
  return set;
}

std::vector<std::string> PolicyTable::PeerMatches(Policy& policy, Direction direction, IpFamily family,
                                                  const std::vector<NetworkPolicyPeer>& peers) {
  const std::string field = std::string(FamilyWord(family)) + (direction == kIngress ? " saddr" : " daddr");
  if (peers.empty()) return {""};
  std::vector<std::string> matches;
  for (const NetworkPolicyPeer& peer : peers) {
    if (peer.ip_block) {
      if (const auto match = BlockMatch(*peer.ip_block, field, family)) matches.push_back(*match);
    } else if (peer.pod_selector || peer.namespace_selector) {
      matches.push_back(field + " @" + OfFamilyName(UsePeer(policy, peer), family) + " ");
    }
  }
  return matches;
}

std::vector<std::string> PolicyTable::PortMatches(Policy& policy, IpFamily family,
                                                  const std::vector<NetworkPolicyPort>& ports) {
  if (ports.empty()) return {""};
  std::vector<std::string> matches;
  for (const NetworkPolicyPort& port : ports) {
    const auto protocol = ParseProtocol(port.protocol.value_or(""));
    if (!protocol) continue;
    const std::string word(ProtocolName(*protocol));
    if (!port.port) {
      matches.push_back("meta l4proto " + word + " ");
    } else if (port.port->is_string()) {
      const std::string set = UseNamedPort(policy, std::string(port.port->text()), *protocol);
      matches.push_back(std::string(FamilyWord(family)) + " daddr . meta l4proto . th dport @" +
                        OfFamilyName(set, family) + " ");
    } else if (const auto first = ParsePort(port.port->number())) {
      const auto last = port.end_port ? ParsePort(*port.end_port) : first;
      if (!last || *last < *first) continue;
      matches.push_back(word + " dport " + std::to_string(*first) +
                        (*last > *first ? "-" + std::to_string(*last) : "") + " ");
    }
  }
  return matches;
}

std::string PolicyTable::RulesOf(Policy& policy, Direction direction,
                                 const std::vector<NetworkPolicyPort>& ports,
                                 const std::vector<NetworkPolicyPeer>& peers) {
  std::string rules;
  for (const IpFamily family : kFamilies) {
    const std::string only = std::string("meta nfproto ") + (family == IpFamily::kV4 ? "ipv4 " : "ipv6 ");
    const auto port_matches = PortMatches(policy, family, ports);
    for (const std::string& peer : PeerMatches(policy, direction, family, peers))
      for (const std::string& port : port_matches) rules += only + peer + port + "accept\n";
  }
  return rules;
}

void PolicyTable::WriteChains(Policy& policy, const NetworkPolicy& object) {
  const NetworkPolicySpec& spec = object.spec;
  const std::string number = std::to_string(next_number_++);
  if (Governs(spec, "Ingress")) {
    std::string rules;
    for (const auto& rule : spec.ingress) rules += RulesOf(policy, kIngress, rule.ports, rule.from);
    chains_.Set(policy.chains[kIngress] = "ingress-" + number, rules);
  }
  if (Governs(spec, "Egress")) {
    std::string rules;
    for (const auto& rule : spec.egress) rules += RulesOf(policy, kEgress, rule.ports, rule.to);
    chains_.Set(policy.chains[kEgress] = "egress-" + number, rules);
  }
}

void PolicyTable::DropPolicy(const std::string& key) {
  const auto known = policies_.find(key);
  if (known == policies_.end()) return;
  const std::unique_ptr<Policy> policy = std::move(known->second);
  policies_.erase(known);
  for (const std::string& chain : policy->chains)
    if (!chain.empty()) chains_.Erase(chain);
  for (const std::string& selectors : policy->peers) {
    Peer& peer = peers_.at(selectors);
    if (--peer.users > 0) continue;
    for (const auto& [name, pod] : pods_) PlaceInPeer(peer, pod, false);
    for (const IpFamily family : kFamilies) sets_.Erase(OfFamilyName(peer.set, family));
    peers_.erase(selectors);
  }
  for (const auto& port : policy->named_ports) {
    auto& [set, users] = named_ports_.at(port);
    if (--users > 0) continue;
    for (const auto& [name, pod] : pods_) {
      PolicyPod only = pod;
      std::erase_if(only.ports,
                    [&](const PolicyPort& p) { return p.name != port.first || p.protocol != port.second; });
      PlaceInNamedPorts(only, false);
    }
    for (const IpFamily family : kFamilies) sets_.Erase(OfFamilyName(set, family));
    named_ports_.erase(port);
  }
}

void PolicyTable::SetPolicy(const std::string& key, const NetworkPolicy* object) {
  std::unique_ptr<Policy> policy;
  if (object) {
    policy = std::make_unique<Policy>();
    policy->ns = object->metadata.namespace_;
    policy->pods = SelectorFrom(object->spec.pod_selector);
    // Before the old one goes, so that sets that both use stay.
    WriteChains(*policy, *object);
  }
  DropPolicy(key);
  if (policy) policies_[key] = std::move(policy);
  IsolateNamespace(key.substr(0, key.find('/')));
  DropUnusedGroups();
}

std::string PolicyTable::RenderChanges() {
  const std::string where = "inet " + options_.table + " ";
  std::string objects, rules, removed, added, ends;
  for (const auto& change : sets_.TakeChanges())
    if (change.after)
      objects += "add set " + where + change.key + " { type " + *change.after + "; }\n";
    else
      ends += "delete set " + where + change.key + "\n";
  for (const auto& change : chains_.TakeChanges()) {
    if (change.after) objects += "add chain " + where + change.key + "\n";
    rules += "flush chain " + where + change.key + "\n";
    if (!change.after) {
      stale_chains_.push_back(change.key);
      continue;
    }
    for (std::size_t at = 0; at < change.after->size();) {
      const std::size_t end = change.after->find('\n', at);
      rules += "add rule " + where + change.key + " " + change.after->substr(at, end - at) + "\n";
      at = end + 1;
    }
  }
  // Neighbours in the map are of one set.
  std::map<std::string, std::pair<std::string, std::string>> elements;
  for (const auto& change : elements_.TakeChanges()) {
    auto& [out, in] = elements[change.key.first];
    if (change.before) out += (out.empty() ? "" : ", ") + change.key.second;
    if (change.after)
      in +=
          (in.empty() ? "" : ", ") + change.key.second + (change.after->empty() ? "" : " : " + *change.after);
  }
  for (const auto& [set, change] : elements) {
    if (!change.first.empty()) removed += "delete element " + where + set + " { " + change.first + " }\n";
    if (!change.second.empty()) added += "add element " + where + set + " { " + change.second + " }\n";
  }
  // Elements are taken away before the chains they lead to are emptied: nobody is without a verdict between.
  return objects + rules + removed + added + ends;
}

std::string PolicyTable::RenderStaleChains() {
  std::string text;
  for (const std::string& chain : stale_chains_)
    text += "delete chain inet " + options_.table + " " + chain + "\n";
  stale_chains_.clear();
  return text;
}

std::string PolicyTable::RenderRemoval() const {
  return "add table inet " + options_.table + "\ndelete table inet " + options_.table + "\n";
}

std::string PolicyTable::RenderReplacement() {
  sets_.ForgetAll();
  chains_.ForgetAll();
  elements_.ForgetAll();
  stale_chains_.clear();
  std::string text = RenderRemoval() + "table inet " + options_.table + " {\n";
  const auto line = [&](const std::string& what) { text += "\t" + what + "\n"; };
  for (const IpFamily family : kFamilies) {
    const std::string type = AddressTypeOf(family);
    line("set " + OfFamilyName("selves", family) + " { type " + type + " . " + type + "; }");
    line("map " + OfFamilyName("ingress", family) + " { type " + type + " : verdict; }");
    line("map " + OfFamilyName("egress", family) + " { type " + type + " : verdict; }");
  }
  // First answers, and what belongs to a connection that was allowed. A pod may always talk to itself.
  // Without neighbour discovery no packet of IPv6 finds its way.
  const std::string from = "ip saddr vmap @egress-4\n\t\tip6 saddr vmap @egress-6";
  const std::string to = "ip daddr vmap @ingress-4\n\t\tip6 daddr vmap @ingress-6";
  const auto base = [&](const std::string& name, const std::string& hook, const std::string& rule) {
    line("chain " + name + " {\n\t\ttype filter hook " + hook +
         ";\n\t\tct state established,related accept\n" +
         "\t\tip saddr . ip daddr @selves-4 accept\n\t\tip6 saddr . ip6 daddr @selves-6 accept\n" +
         "\t\ticmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept\n\t\t" +
         rule + "\n\t}");
  };
  // What a pod's own node sends it is always allowed (upstream: the NetworkPolicy API says so), so no chain
  // is at the hook `output`.
  base("forward-egress", "forward priority filter + 10", from);
  base("input-egress", "input priority filter + 10", from);
  base("forward-ingress", "forward priority filter + 20", to);
  return text + "}\n" + RenderChanges();
}

}  // namespace flyball::network
