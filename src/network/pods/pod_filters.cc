#include "network/pods/pod_filters.h"

#include <algorithm>

#include "base/values/ascii.h"

namespace flyball::network {
namespace {

bool IsV6(const std::string& text) {
  return text.find(':') != std::string::npos;
}

const char* FamilyWord(bool v6) {
  return v6 ? "ip6" : "ip";
}

std::string SetOf(const std::vector<std::string>& ranges, bool v6) {
  std::string text;
  for (const std::string& range : ranges)
    if (IsV6(range) == v6) text += (text.empty() ? "" : ", ") + range;
  return text.empty() ? "" : "{ " + text + " }";
}

std::string MarkText() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::uint32_t mark = kMasqueradeMark; mark > 0; mark >>= 4)
    text.insert(text.begin(), kDigits[mark & 15]);
  return "0x" + text;
}

// The maps and the chain of host ports, of one family.
std::string HostPortMaps(bool v6) {
  const std::string digit = v6 ? "6" : "4", type = v6 ? "ipv6_addr" : "ipv4_addr";
  return "  map ports" + digit + " { type inet_proto . inet_service : " + type + " . inet_service; }\n" +
         "  map address_ports" + digit + " { type " + type + " . inet_proto . inet_service : " + type +
         " . inet_service; }\n" + "  set own_ports" + digit + " { type " + type +
         " . inet_proto . inet_service; }\n";
}

std::string HostPortRules(const std::string& links, bool v6) {
  const std::string digit = v6 ? "6" : "4", word = FamilyWord(v6), family = v6 ? "ipv6" : "ipv4";
  const std::string key = "meta l4proto . th dport";
  // A pod that reaches itself this way has to get the answer from the node.
  return "    meta nfproto " + family + " iifname \"" + links + "\" fib daddr type local " + word +
         " saddr . " + key + " @own_ports" + digit + " meta mark set meta mark | " + MarkText() + "\n" +
         "    dnat " + word + " to " + word + " daddr . " + key + " map @address_ports" + digit + "\n" +
         "    meta nfproto " + family + " fib daddr type local dnat " + word + " to " + key + " map @ports" +
         digit + "\n";
}

std::string PostroutingRules(const PodFilters& filters, bool v6) {
  const std::string pods = SetOf(filters.pod_cidrs, v6), all = SetOf(filters.cluster.pod_cidrs, v6);
  if (pods.empty()) return {};
  const std::string word = FamilyWord(v6), links = filters.node.PodLinks();
  return "    oifname \"" + links + "\" " + word + " saddr " + (v6 ? "::1" : "127.0.0.0/8") +
         " masquerade\n" + "    " + word + " saddr " + pods + " " + word +
         " daddr != " + (all.empty() ? pods : all) + " oifname != \"" + links + "\" masquerade\n";
}

std::string GuardRules(const PodFilters& filters, bool v6) {
  const std::string word = FamilyWord(v6), links = filters.node.PodLinks();
  const std::string pods = SetOf(filters.pod_cidrs, v6);
  std::string text =
      "    iifname \"" + links + "\" " + word + " daddr " + (v6 ? "::1" : "127.0.0.0/8") + " drop\n";
  // Link-local sources are those of neighbor discovery.
  if (!pods.empty())
    text += "    iifname \"" + links + "\" " + word + " saddr != " + pods +
            (v6 ? " ip6 saddr != fe80::/10" : "") + " drop\n";
  return text;
}

std::string ApiAddressRules(const PodFilters& filters) {
  const std::string& address = filters.cluster.api_address;
  if (address.empty()) return {};
  const std::string to = std::string("    ") + FamilyWord(IsV6(address)) + " daddr " + address;
  return to + " iifname \"lo\" accept\n" + to + " iifname \"" + filters.node.name + "*\" accept\n" + to +
         " drop\n";
}

std::string Chain(const std::string& name, const std::string& hook, const std::string& rules) {
  return "  chain " + name + " {\n    " + hook + "\n" + rules + "  }\n";
}

std::string ClosedRules(bool v6) {
  const std::string family = std::string("    meta nfproto ") + (v6 ? "ipv6 " : "ipv4 ");
  return Chain(ClosedChain(v6), "type filter hook forward priority filter; policy accept;",
               // A node port may lead on to another node, by the link that it came from.
               family + "ct status dnat accept\n" + family + "iifname != \"fb*\" oifname != \"fb*\" drop\n");
}

}  // namespace

std::string ClosedChain(bool v6) {
  return v6 ? "not_a_router6" : "not_a_router";
}

std::vector<HostPort> HostPortsOf(const Pod& pod) {
  std::vector<HostPort> ports;
  if (pod.spec.host_network) return ports;
  const auto add = [&](const Container& container) {
    for (const ContainerPort& port : container.ports) {
      if (port.host_port == 0) continue;
      const std::string protocol = port.protocol.empty() ? "tcp" : LowerCase(port.protocol);
      const bool any = port.host_ip == "0.0.0.0" || port.host_ip == "::";
      ports.push_back({protocol, any ? "" : port.host_ip, port.host_port, port.container_port});
    }
  };
  for (const Container& container : pod.spec.containers) add(container);
  for (const Container& container : pod.spec.init_containers)
    if (container.restart_policy == "Always") add(container);
  return ports;
}

std::string TableCommands(const PodFilters& filters) {
  const std::string table = "inet " + filters.node.Table("pods"), links = filters.node.PodLinks();
  std::string text = "add table " + table + "\ndelete table " + table + "\ntable " + table + " {\n";
  text += HostPortMaps(false) + HostPortMaps(true);
  text += "  chain host_ports {\n" + HostPortRules(links, false) + HostPortRules(links, true) + "  }\n";
  text += Chain("prerouting", "type nat hook prerouting priority dstnat; policy accept;",
                "    jump host_ports\n");
  text += Chain("output", "type nat hook output priority -100; policy accept;", "    jump host_ports\n");
  text += Chain("postrouting", "type nat hook postrouting priority srcnat; policy accept;",
                "    meta mark & " + MarkText() + " == " + MarkText() + " masquerade\n" +
                    PostroutingRules(filters, false) + PostroutingRules(filters, true));
  text += Chain("guard", "type filter hook prerouting priority raw; policy accept;",
                GuardRules(filters, false) + GuardRules(filters, true));
  text += Chain("input", "type filter hook input priority filter; policy accept;", ApiAddressRules(filters));
  if (filters.closed) text += ClosedRules(false);
  if (filters.closed_v6) text += ClosedRules(true);
  return text + "}\n";
}

std::string HostPortCommands(const NodeNetwork& node, const char* verb, const std::vector<HostPort>& ports,
                             const std::vector<std::string>& ips) {
  std::string text;
  const std::string table = " inet " + node.Table("pods") + " ";
  const auto element = [&](const std::string& set, const std::string& content) {
    const std::string line = std::string(verb) + " element" + table + set + " { " + content + " }\n";
    // A port of several addresses is a port of its own only once.
    if (text.find(line) == std::string::npos) text += line;
  };
  for (const HostPort& port : ports)
    for (const std::string& ip : ips) {
      const bool v6 = IsV6(ip);
      if (!port.host_ip.empty() && IsV6(port.host_ip) != v6) continue;
      const std::string digit = v6 ? "6" : "4", key = port.protocol + " . " + std::to_string(port.port);
      const std::string to = " : " + ip + " . " + std::to_string(port.pod_port);
      element("own_ports" + digit, ip + " . " + key);
      if (port.host_ip.empty())
        element("ports" + digit, key + to);
      else
        element("address_ports" + digit, port.host_ip + " . " + key + to);
    }
  return text;
}

}  // namespace flyball::network
