#include "network/services/service_table.h"

#include <algorithm>
#include <set>

#include "network/services/service_chains.h"

namespace flyball::network {
namespace {

const ServiceRules& NoRules() {
  static const ServiceRules none;
  return none;
}

std::string AddressText(const std::array<std::uint8_t, 16>& bytes, IpFamily family) {
  return api::IpAddress{family == IpFamily::kV4, bytes}.ToString();
}

// "10.0.0.1 . tcp . 80", or "tcp . 30080" of a NodePort.
std::string PlaceText(const Place& place) {
  const std::string port = std::string(ProtocolName(place.protocol)) + " . " + std::to_string(place.port);
  return place.node_port ? port : place.address.ToString() + " . " + port;
}

// The same in a map for one protocol: "10.0.0.1 . 80 . ", or "30080 . ".
std::string SlotPrefix(const Place& place) {
  return (place.node_port ? "" : place.address.ToString() + " . ") + std::to_string(place.port) + " . ";
}

std::string SlotText(const Target& target) {
  return target.address.ToString() + " . " + std::to_string(target.port);
}

std::string RefusalVerdict(Frontend::Refusal refusal) {
  switch (refusal) {
    case Frontend::Refusal::kNone:
      return "";
    case Frontend::Refusal::kReject:
      return "goto rejected";
    case Frontend::Refusal::kDrop:
      return "drop";
  }
  return "";
}

// The names in what `list table` prints: an object begins a line, after one tab.
std::vector<std::string> NamesOf(std::string_view word, std::string_view listing) {
  std::vector<std::string> names;
  const std::string start = "\n\t" + std::string(word) + " ";
  for (std::size_t at = listing.find(start); at != listing.npos; at = listing.find(start, at)) {
    at += start.size();
    names.emplace_back(listing.substr(at, listing.find(' ', at) - at));
  }
  return names;
}

}  // namespace

// Commands by kind, put together in the order in which they can be run: what is referred to is made first and
// deleted last.
struct ServiceTable::Text {
  explicit Text(const ServiceTableOptions& options)
      : where(std::string(FamilyWord(options.family)) + " " + options.table + " ") {}

  struct Elements {
    std::string removed, added;
  };
  void Remove(const std::string& container, const std::string& key) {
    Append(elements[container].removed, key);
  }
  void Add(const std::string& container, const std::string& element) {
    Append(elements[container].added, element);
  }
  static void Append(std::string& list, const std::string& element) {
    list += list.empty() ? "" : ",\n";
    list += element;
  }

  std::string Take() const {
    std::string text = objects + rules;
    for (const auto& [container, change] : elements)
      if (!change.removed.empty())
        text += "delete element " + where + container + " {\n" + change.removed + "\n}\n";
    for (const auto& [container, change] : elements)
      if (!change.added.empty()) text += "add element " + where + container + " {\n" + change.added + "\n}\n";
    return text + ends;
  }

  const std::string where;
  std::string objects, rules, ends;
  std::map<std::string, Elements> elements;
};

ServiceTable::ServiceTable(ServiceTableOptions options) : options_(std::move(options)) {}

const ServiceRules& ServiceTable::RulesOf(const std::string& service) const {
  const auto known = services_.find(service);
  return known == services_.end() ? NoRules() : known->second;
}

void ServiceTable::Claim(const Place& place, const std::string& service) {
  auto& names = claims_[place];
  const auto at = std::lower_bound(names.begin(), names.end(), service);
  if (at == names.end() || *at != service) names.insert(at, service);
}

void ServiceTable::Unclaim(const Place& place, const std::string& service) {
  const auto claim = claims_.find(place);
  if (claim == claims_.end()) return;
  std::erase(claim->second, service);
  if (claim->second.empty()) claims_.erase(claim);
}

void ServiceTable::UseSharedChains(const Place& place, const Frontend& frontend) {
  if (!frontend.chain.empty()) return;
  for (const NamedChain& chain : SharedChains(place, frontend, options_))
    chains_.Set(chain.name, chain.rules);
}

// Whoever has the place now decides what happens there.
void ServiceTable::Settle(const Place& place) {
  const auto claim = claims_.find(place);
  if (claim == claims_.end()) return frontends_.Erase(place);
  const Frontend& frontend = services_.at(claim->second.front()).frontends.at(place);
  UseSharedChains(place, frontend);
  frontends_.Set(place, frontend);
}

template <typename Key>
void ServiceTable::Count(TrackedMap<Key, int>& present, std::map<Key, int>& counts, const Key& key,
                         int difference) {
  int& count = counts[key];
  count += difference;
  if (count > 0) {
    present.Set(key, 1);
  } else {
    counts.erase(key);
    present.Erase(key);
  }
}

void ServiceTable::Update(const std::string& service, ServiceRules rules) {
  const auto known = services_.find(service);
  const ServiceRules before = known == services_.end() ? ServiceRules() : std::move(known->second);
  dropped_internal_ += rules.dropped_internal - before.dropped_internal;
  dropped_external_ += rules.dropped_external - before.dropped_external;
  for (const auto& [place, frontend] : before.frontends) Unclaim(place, service);
  for (const auto& [place, frontend] : rules.frontends) Claim(place, service);

  // New ones first, so that what stays is not counted down to nothing in between.
  for (const auto& ip : rules.cluster_ips) Count(cluster_ips_, cluster_ip_counts_, ip.bytes, 1);
  for (const auto& ip : before.cluster_ips) Count(cluster_ips_, cluster_ip_counts_, ip.bytes, -1);
  for (const Hairpin& hairpin : rules.hairpins) Count(hairpins_, hairpin_counts_, hairpin, 1);
  for (const Hairpin& hairpin : before.hairpins) Count(hairpins_, hairpin_counts_, hairpin, -1);
  for (const auto& [name, text] : before.chains)
    if (!rules.chains.count(name)) chains_.Erase(name);
  for (const auto& [name, seconds] : before.affinities)
    if (!rules.affinities.count(name)) affinities_.Erase(name);
  for (const auto& [name, text] : rules.chains) chains_.Set(name, text);
  for (const auto& [name, seconds] : rules.affinities) affinities_.Set(name, seconds);

  std::vector<Place> places;
  for (const auto& [place, frontend] : before.frontends) places.push_back(place);
  for (const auto& [place, frontend] : rules.frontends)
    if (!before.frontends.count(place)) places.push_back(place);
  if (rules.empty())
    services_.erase(service);
  else
    services_[service] = std::move(rules);
  for (const Place& place : places) Settle(place);
}

void ServiceTable::SetNodePortAddresses(const std::vector<api::IpAddress>& addresses) {
  std::vector<api::Cidr> elements;
  for (const api::IpAddress& address : addresses)
    if (IpFamilyOf(address) == options_.family) elements.push_back({address, address.is_v4 ? 32 : 128});
  networks_.Set("node-port-addresses", CidrSetText(std::move(elements)));
}

void ServiceTable::SetServiceNetworks(const std::vector<api::Cidr>& networks) {
  std::vector<api::Cidr> elements;
  for (const api::Cidr& network : networks)
    if (IpFamilyOf(network.address) == options_.family) elements.push_back(network);
  networks_.Set("service-networks", CidrSetText(std::move(elements)));
}

void ServiceTable::RenderObjects(Text& text) {
  for (const auto& change : affinities_.TakeChanges()) {
    if (!change.after) {
      text.ends += "delete set " + text.where + change.key + "\n";
      continue;
    }
    text.objects += "add set " + text.where + change.key + " { type " +
                    (options_.family == IpFamily::kV4 ? "ipv4_addr" : "ipv6_addr") +
                    "; flags dynamic,timeout; timeout " + std::to_string(*change.after) + "s; }\n";
  }
  for (const auto& change : chains_.TakeChanges()) {
    if (!change.after) {
      text.rules += "flush chain " + text.where + change.key + "\n";
      stale_chains_.push_back(change.key);
      continue;
    }
    std::erase(stale_chains_, change.key);
    text.objects += "add chain " + text.where + change.key + "\n";
    text.rules += "flush chain " + text.where + change.key + "\n";
    for (std::size_t at = 0; at < change.after->size();) {
      const std::size_t end = change.after->find('\n', at);
      text.rules += "add rule " + text.where + change.key + " " + change.after->substr(at, end - at) + "\n";
      at = end + 1;
    }
  }
}

namespace {

std::string FrontendVerdict(const Place& place, const Frontend& frontend,
                            const ServiceTableOptions& options) {
  if (frontend.route == Frontend::Route::kNone) return "";
  if (!frontend.chain.empty()) return "goto " + frontend.chain;
  const auto chains = SharedChains(place, frontend, options);
  return chains.empty() ? "" : "goto " + chains.front().name;
}

const std::vector<Target>& SlotsOf(const std::optional<Frontend>& frontend, Targets Frontend::*which) {
  static const std::vector<Target> none;
  if (!frontend || frontend->route == Frontend::Route::kNone || !(*frontend.*which)) return none;
  return *(*frontend.*which);
}

}  // namespace

void ServiceTable::RenderFrontends(Text& text) {
  const auto element = [&](const std::string& container, const std::string& key, const std::string& before,
                           const std::string& after) {
    if (before == after) return;
    if (!before.empty()) text.Remove(container, key);
    if (!after.empty()) text.Add(container, key + " : " + after);
  };
  const auto slots = [&](const std::string& container, const std::string& key, std::uint32_t first,
                         const std::vector<Target>& before, const std::vector<Target>& after) {
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      const bool was = i < before.size(), is = i < after.size();
      if (was && is && before[i] == after[i]) continue;
      element(container, key + std::to_string(first + i), was ? SlotText(before[i]) : "",
              is ? SlotText(after[i]) : "");
    }
  };
  for (const auto& change : frontends_.TakeChanges()) {
    const std::string key = PlaceText(change.key), slot = SlotPrefix(change.key),
                      map = TargetsMap(change.key);
    const Frontend none, &before = change.before ? *change.before : none,
                         &after = change.after ? *change.after : none;
    element(change.key.node_port ? "node-ports" : "services", key,
            FrontendVerdict(change.key, before, options_), FrontendVerdict(change.key, after, options_));
    element(change.key.node_port ? "node-refused" : "refused", key, RefusalVerdict(before.refusal),
            RefusalVerdict(after.refusal));
    element("firewalls", key, before.firewall.empty() ? "" : "goto " + before.firewall,
            after.firewall.empty() ? "" : "goto " + after.firewall);
    slots(map, slot, 0, SlotsOf(change.before, &Frontend::targets),
          SlotsOf(change.after, &Frontend::targets));
    slots(map, slot, kFirstLocalSlot, SlotsOf(change.before, &Frontend::local),
          SlotsOf(change.after, &Frontend::local));
  }
}

void ServiceTable::RenderSets(Text& text) {
  for (const auto& change : cluster_ips_.TakeChanges()) {
    const std::string ip = AddressText(change.key, options_.family);
    change.after ? text.Add("cluster-ips", ip) : text.Remove("cluster-ips", ip);
  }
  for (const auto& change : hairpins_.TakeChanges()) {
    const Target& target = change.key.target;
    const std::string ip = target.address.ToString();
    const std::string key = ip + " . " + ip + " . " + std::string(ProtocolName(change.key.protocol)) + " . " +
                            std::to_string(target.port);
    change.after ? text.Add("hairpins", key) : text.Remove("hairpins", key);
  }
  for (const auto& change : networks_.TakeChanges()) {
    text.rules += "flush set " + text.where + change.key + "\n";
    if (!change.after->empty()) text.Add(change.key, *change.after);
  }
}

std::string ServiceTable::RenderChanges() {
  Text text(options_);
  RenderObjects(text);
  RenderFrontends(text);
  RenderSets(text);
  return text.Take();
}

std::string ServiceTable::RenderStaleChains() {
  std::string text;
  for (const std::string& chain : stale_chains_)
    text += "delete chain " + std::string(FamilyWord(options_.family)) + " " + options_.table + " " + chain +
            "\n";
  stale_chains_.clear();
  return text;
}

std::string ServiceTable::RenderReplacement(const std::string& present) {
  const std::string table = std::string(FamilyWord(options_.family)) + " " + options_.table;
  std::set<std::string> kept;
  std::string text = "add table " + table + "\n";
  if (present.empty()) {
    text += "delete table " + table + "\nadd table " + table + "\n";
  } else {
    text += "flush table " + table + "\n";
    for (const std::string& map : NamesOf("map", present)) text += "delete map " + table + " " + map + "\n";
    for (const std::string& set : NamesOf("set", present))
      if (!affinities_.Find(set)) text += "delete set " + table + " " + set + "\n";
    for (const std::string& chain : NamesOf("chain", present))
      text += "delete chain " + table + " " + chain + "\n";
  }
  for (auto* map : {&affinities_}) map->ForgetAll();
  chains_.ForgetAll();
  frontends_.ForgetAll();
  cluster_ips_.ForgetAll();
  hairpins_.ForgetAll();
  networks_.ForgetAll();
  stale_chains_.clear();
  return text + RenderBase() + RenderChanges();
}

std::string ServiceTable::RenderRemoval() const {
  const std::string table = std::string(FamilyWord(options_.family)) + " " + options_.table + "\n";
  return "add table " + table + "delete table " + table;
}

std::string ServiceTable::RenderBase() const {
  const std::string word(FamilyWord(options_.family));
  const std::string address = options_.family == IpFamily::kV4 ? "ipv4_addr" : "ipv6_addr";
  const std::string loopback = options_.family == IpFamily::kV4 ? "127.0.0.0/8" : "::1";
  const std::string mark = std::to_string(options_.masquerade_mark);
  const std::string place = word + " daddr . meta l4proto . th dport";
  const std::string at_node = options_.node_ports_everywhere
                                  ? "fib daddr type local " + word + " daddr != " + loopback
                                  : word + " daddr @node-port-addresses";
  const std::string from_outside = options_.masquerade_all ? "" : options_.local.MatchesNot(options_.family);
  const bool masquerades = options_.masquerade_all || !from_outside.empty();

  std::string text = "table " + word + " " + options_.table + " {\n";
  const auto line = [&](const std::string& what) { text += "\t" + what + "\n"; };
  line("set cluster-ips { type " + address + "; }");
  line("set hairpins { type " + address + " . " + address + " . inet_proto . inet_service; }");
  line("set service-networks { type " + address + "; flags interval; }");
  line("set node-port-addresses { type " + address + "; flags interval; }");
  line("map services { type " + address + " . inet_proto . inet_service : verdict; }");
  line("map node-ports { type inet_proto . inet_service : verdict; }");
  line("map firewalls { type " + address + " . inet_proto . inet_service : verdict; }");
  line("map refused { type " + address + " . inet_proto . inet_service : verdict; }");
  line("map node-refused { type inet_proto . inet_service : verdict; }");
  for (const std::string protocol : {"tcp", "udp", "sctp"}) {
    const std::string slot =
        protocol + " dport . numgen random mod 65536 : " + word + " daddr . " + protocol + " dport; }";
    line("map " + protocol + "-targets { typeof " + word + " daddr . " + slot);
    line("map " + protocol + "-node-targets { typeof " + slot);
  }

  // A reset is heard at once. An ICMP error that arrives while the client is still in connect() is only heard
  // with the next SYN, a second later.
  line("chain rejected { meta l4proto tcp reject with tcp reset; reject; }");
  line("chain dispatch {");
  if (masquerades)
    line("\t" + word + " daddr @cluster-ips " + (from_outside.empty() ? "" : from_outside + " ") +
         "meta mark set meta mark or " + mark);
  line("\t" + place + " vmap @services");
  line("\t" + at_node + " meta l4proto . th dport vmap @node-ports");
  line("}");
  line("chain refuse { " + place + " vmap @refused; }");
  line("chain refuse-node-ports { " + at_node + " meta l4proto . th dport vmap @node-refused; }");
  // Other ports of a cluster IP are closed; addresses that no Service has are not there.
  line("chain check-cluster-ips {");
  line("\t" + word + " daddr @cluster-ips goto rejected");
  line("\t" + word + " daddr @service-networks drop");
  line("}");
  line("chain prerouting-firewall { type filter hook prerouting priority dstnat - 10; ct state new " + place +
       " vmap @firewalls; }");
  line("chain output-firewall { type filter hook output priority -110; ct state new " + place +
       " vmap @firewalls; }");
  line("chain prerouting { type nat hook prerouting priority dstnat; goto dispatch; }");
  line("chain output { type nat hook output priority -100; goto dispatch; }");
  line("chain postrouting { type nat hook postrouting priority srcnat;");
  line("\tmeta mark and " + mark + " != 0 meta mark set meta mark xor " + mark + " masquerade fully-random");
  line("\tct status dnat " + word + " saddr . " + word +
       " daddr . meta l4proto . th dport @hairpins masquerade fully-random");
  line("}");
  line(
      "chain input-filter { type filter hook input priority filter; ct state new jump refuse-node-ports; "
      "ct state new jump refuse; }");
  line(
      "chain forward-filter { type filter hook forward priority filter; ct state new jump refuse; "
      "ct state new jump check-cluster-ips; }");
  line(
      "chain output-filter { type filter hook output priority filter; ct state new jump refuse; "
      "ct state new jump check-cluster-ips; }");
  return text + "}\n";
}

}  // namespace flyball::network
