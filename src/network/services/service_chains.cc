#include "network/services/service_chains.h"

#include <algorithm>

#include "base/values/hash.h"

namespace flyball::network {
namespace {

// Names in nftables are at most 255 bytes; a prefix and a suffix of ours have room.
constexpr std::size_t kLongestName = 185;

std::string MarkRule(const ServiceTableOptions& options) {
  return "meta mark set meta mark or " + std::to_string(options.masquerade_mark);
}

// Lines of rules.
class Lines {
 public:
  Lines& Add(std::string_view line) {
    text_.append(line).push_back('\n');
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// The names of the maps and chains for a place begin with this.
std::string Prefix(const Place& place) {
  return std::string(ProtocolName(place.protocol)) + (place.node_port ? "-node-" : "-");
}

// Chooses one of `count` slots. The second rule is for a packet that read the number of slots before a change
// and looks for its slot after it.
NamedChain PickChain(const Place& place, bool local, std::size_t count, IpFamily family) {
  const std::string word(FamilyWord(family));
  const std::string key = (place.node_port ? "" : word + " daddr . ") +
                          std::string(ProtocolName(place.protocol)) + " dport . numgen random mod ";
  const std::string offset = local ? " offset " + std::to_string(kFirstLocalSlot) : "";
  const auto rule = [&](std::size_t slots) {
    return "dnat " + word + " addr . port to " + key + std::to_string(slots) + offset + " map @" +
           TargetsMap(place);
  };
  Lines lines;
  if (count > 1) lines.Add(rule(count));
  lines.Add(rule(1));
  return {Prefix(place) + (local ? "local-" : "") + "pick-" + std::to_string(count), lines.Take()};
}

// Packets of this node's pods and of the node itself are subject to no external policy, as if they went out
// to a load balancer and came back (upstream: "short-circuit").
std::string ExternalLocalRules(const std::string& any, const std::string& local,
                               const ServiceTableOptions& options) {
  Lines lines;
  const std::string from_pods = options.local.Matches(options.family);
  if (!any.empty()) {
    if (!from_pods.empty()) lines.Add(from_pods + " goto " + any);
    lines.Add("fib saddr type local " + MarkRule(options));
    lines.Add("fib saddr type local goto " + any);
  }
  if (!local.empty()) lines.Add("goto " + local);
  return lines.Take();
}

std::string ExternalRules(const std::string& any, const ServiceTableOptions& options) {
  return Lines().Add(MarkRule(options)).Add("goto " + any).Take();
}

std::string Dotted(const Target& target) {
  std::string text = target.address.ToString();
  std::replace(text.begin(), text.end(), ':', '.');  // which names may not have
  return text + "/" + std::to_string(target.port);
}

std::string EndpointName(const std::string& port_name, const Target& target) {
  return port_name + "__" + Dotted(target);
}

std::string AffinitySet(const std::string& endpoint, std::int32_t seconds) {
  return "affinity-" + std::to_string(seconds) + "-" + endpoint;
}

// Known clients go where they went before; others anywhere.
std::string AffinityRules(const std::string& port_name, const std::vector<Target>& targets,
                          std::int32_t seconds, IpFamily family) {
  Lines lines;
  std::string slots;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string endpoint = EndpointName(port_name, targets[i]);
    lines.Add(std::string(FamilyWord(family)) + " saddr @" + AffinitySet(endpoint, seconds) +
              " goto endpoint-" + endpoint);
    slots += (i ? ", " : "") + std::to_string(i) + " : goto endpoint-" + endpoint;
  }
  lines.Add("numgen random mod " + std::to_string(targets.size()) + " vmap { " + slots + " }");
  return lines.Take();
}

void AddEndpointChain(const ServicePortInfo& port, const Target& target, IpFamily family, ServiceRules& to) {
  const std::string endpoint = EndpointName(PortName(port), target);
  const std::string set = AffinitySet(endpoint, *port.affinity_seconds);
  to.affinities[set] = *port.affinity_seconds;
  to.chains["endpoint-" + endpoint] =
      Lines()
          .Add("update @" + set + " { " + std::string(FamilyWord(family)) + " saddr }")
          .Add("meta l4proto " + std::string(ProtocolName(port.protocol)) + " dnat to " + TargetText(target))
          .Take();
}

}  // namespace

std::string_view FamilyWord(IpFamily family) {
  return family == IpFamily::kV4 ? "ip" : "ip6";
}

std::string TargetText(const Target& target) {
  const std::string address = target.address.ToString();
  return (target.address.is_v4 ? address : "[" + address + "]") + ":" + std::to_string(target.port);
}

std::string CidrText(const api::Cidr& cidr) {
  return cidr.Network().ToString() + "/" + std::to_string(cidr.prefix);
}

std::string CidrSetText(std::vector<api::Cidr> cidrs) {
  // Wide ones first: each is either inside one of those before it, or apart from all of them.
  std::stable_sort(cidrs.begin(), cidrs.end(),
                   [](const api::Cidr& a, const api::Cidr& b) { return a.prefix < b.prefix; });
  std::vector<api::Cidr> apart;
  for (const api::Cidr& cidr : cidrs) {
    const bool inside = std::any_of(apart.begin(), apart.end(),
                                    [&](const api::Cidr& wide) { return wide.Contains(cidr.Network()); });
    if (!inside) apart.push_back(cidr);
  }
  std::string text;
  for (const api::Cidr& cidr : apart) text += (text.empty() ? "" : ", ") + CidrText(cidr);
  return text;
}

std::string PortName(const ServicePortInfo& port) {
  const std::string service = port.ns + "/" + port.service + "/";
  std::string name = service + std::string(ProtocolName(port.protocol)) + "/" + port.port_name;
  if (name.size() <= kLongestName) return name;
  return name.substr(0, kLongestName - 20) + "-" + std::to_string(HashText(name));
}

std::string TargetsMap(const Place& place) {
  return Prefix(place) + "targets";
}

std::vector<NamedChain> SharedChains(const Place& place, const Frontend& frontend,
                                     const ServiceTableOptions& options) {
  const std::size_t any = frontend.targets ? frontend.targets->size() : 0;
  const std::size_t local = frontend.local ? frontend.local->size() : 0;
  std::vector<NamedChain> chains;
  if (any) chains.push_back(PickChain(place, false, any, options.family));
  const std::string pick = any ? chains[0].name : "";
  const std::string prefix = Prefix(place);
  switch (frontend.route) {
    case Frontend::Route::kNone:
      return {};
    case Frontend::Route::kInternal:
      return chains;
    case Frontend::Route::kExternal:
      chains.insert(chains.begin(),
                    {prefix + "external-" + std::to_string(any), ExternalRules(pick, options)});
      return chains;
    case Frontend::Route::kExternalLocal:
      break;
  }
  if (local) chains.push_back(PickChain(place, true, local, options.family));
  chains.insert(chains.begin(),
                {prefix + "external-" + std::to_string(any) + "-local-" + std::to_string(local),
                 ExternalLocalRules(pick, local ? chains.back().name : "", options)});
  return chains;
}

void AddAffinityChains(const ServicePortInfo& port, const EndpointChoice& choice,
                       const ServiceTableOptions& options, ServiceRules& to) {
  const std::string name = PortName(port);
  const std::int32_t seconds = *port.affinity_seconds;
  for (const auto* targets : {&choice.cluster, &choice.local})
    for (const Target& target : *targets) AddEndpointChain(port, target, options.family, to);
  if (!choice.cluster.empty())
    to.chains["service-" + name] = AffinityRules(name, choice.cluster, seconds, options.family);
  if (!choice.local.empty())
    to.chains["local-" + name] = AffinityRules(name, choice.local, seconds, options.family);
  if (!port.external()) return;
  const std::string any = choice.cluster.empty() ? "" : "service-" + name;
  const std::string local = choice.local.empty() ? "" : "local-" + name;
  to.chains["external-" + name] =
      port.external_local ? ExternalLocalRules(any, local, options) : ExternalRules(any, options);
}

std::string AddFirewallChain(const ServicePortInfo& port, const ServiceTableOptions& options,
                             const std::vector<api::IpAddress>& node_addresses, ServiceRules& to) {
  std::vector<api::Cidr> sources = port.source_ranges;
  const bool node_may =
      std::any_of(node_addresses.begin(), node_addresses.end(), [&](const api::IpAddress& address) {
        return std::any_of(sources.begin(), sources.end(),
                           [&](const api::Cidr& range) { return range.Contains(address); });
      });
  // A node that holds the load balancer's address comes from that address when it connects to it.
  if (node_may)
    for (const api::IpAddress& ip : port.load_balancer_ips) sources.push_back({ip, ip.is_v4 ? 32 : 128});
  const std::string name = "firewall-" + PortName(port);
  to.chains[name] = Lines()
                        .Add(std::string(FamilyWord(options.family)) + " saddr != { " +
                             CidrSetText(std::move(sources)) + " } drop")
                        .Take();
  return name;
}

}  // namespace flyball::network
