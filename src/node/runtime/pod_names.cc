#include "node/runtime/pod_names.h"

#include <algorithm>
#include <sstream>

namespace flyball::node {
namespace {

constexpr std::size_t kMaxHostname = 63;
// Of validation.MaxDNSNameservers and its like.
constexpr std::size_t kMaxServers = 3, kMaxSearches = 32, kMaxSearchSize = 2048;

struct ResolverFile {
  std::vector<std::string> servers, searches, options;
};

void AddOnce(std::vector<std::string>& list, const std::string& word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
}

ResolverFile ParseResolverFile(const std::string& text) {
  ResolverFile resolver;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "search" || key == "domain") resolver.searches.clear();
    while (words >> word) {
      if (key == "nameserver") resolver.servers.push_back(word);
      if (key == "search" || key == "domain") {
        if (word.size() > 1 && word.back() == '.') word.pop_back();
        AddOnce(resolver.searches, word);
      }
      if (key == "options") resolver.options.push_back(word);
    }
  }
  return resolver;
}

// An option of the pod replaces one of that name.
void MergeOption(ResolverFile& resolver, const PodDNSConfigOption& option) {
  std::erase_if(resolver.options,
                [&](const std::string& known) { return known.substr(0, known.find(':')) == option.name; });
  resolver.options.push_back(option.name +
                             (option.value && !option.value->empty() ? ":" + *option.value : ""));
}

ResolverFile ForCluster(const Pod& pod, const ClusterDns& dns, const ResolverFile& machine) {
  ResolverFile resolver;
  resolver.servers = dns.servers;
  resolver.searches = {pod.metadata.namespace_ + ".svc." + dns.domain, "svc." + dns.domain, dns.domain};
  for (const std::string& domain : machine.searches) AddOnce(resolver.searches, domain);
  resolver.options = {"ndots:5"};
  return resolver;
}

ResolverFile ByPolicy(const Pod& pod, const ClusterDns& dns, const ResolverFile& machine) {
  const std::string& policy = pod.spec.dns_policy;
  if (policy == "None") return {};
  const bool of_cluster = policy == "ClusterFirstWithHostNet" ||
                          ((policy.empty() || policy == "ClusterFirst") && !pod.spec.host_network);
  if (of_cluster && !dns.servers.empty()) return ForCluster(pod, dns, machine);
  return machine;
}

std::string Joined(const char* key, const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) {
    if (text.size() + words[i].size() > kMaxSearchSize) break;
    text += " " + words[i];
  }
  return text.empty() ? "" : key + text + "\n";
}

}  // namespace

std::string PodHostname(const Pod& pod) {
  std::string name = pod.spec.hostname.empty() ? pod.metadata.name : pod.spec.hostname;
  name = name.substr(0, kMaxHostname);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name;
}

std::string PodFqdn(const Pod& pod, const std::string& cluster_domain) {
  if (pod.spec.subdomain.empty()) return {};
  return PodHostname(pod) + "." + pod.spec.subdomain + "." + pod.metadata.namespace_ + ".svc." +
         cluster_domain;
}

std::string HostsText(const Pod& pod, const std::vector<std::string>& ips, const ClusterDns& dns,
                      const std::string& machine) {
  std::string text = "# Kubernetes-managed hosts file (host network).\n" + machine;
  if (!pod.spec.host_network) {
    text =
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
    const std::string full = PodFqdn(pod, dns.domain);
    for (const std::string& ip : ips)
      text += ip + "\t" + (full.empty() ? "" : full + "\t") + PodHostname(pod) + "\n";
  }
  if (!pod.spec.host_aliases.empty()) text += "\n# Entries added by HostAliases.\n";
  for (const HostAlias& alias : pod.spec.host_aliases) {
    text += alias.ip;
    for (const std::string& name : alias.hostnames) text += "\t" + name;
    text += "\n";
  }
  return text;
}

std::string ResolvText(const Pod& pod, const ClusterDns& dns, const std::string& machine) {
  ResolverFile resolver = ByPolicy(pod, dns, ParseResolverFile(machine));
  if (pod.spec.dns_config) {
    const PodDNSConfig& own = *pod.spec.dns_config;
    for (const std::string& server : own.nameservers) AddOnce(resolver.servers, server);
    for (const std::string& domain : own.searches) AddOnce(resolver.searches, domain);
    for (const PodDNSConfigOption& option : own.options) MergeOption(resolver, option);
  }
  std::string text = Joined("search", resolver.searches, kMaxSearches);
  for (std::size_t i = 0; i < resolver.servers.size() && i < kMaxServers; ++i)
    text += "nameserver " + resolver.servers[i] + "\n";
  return text + Joined("options", resolver.options, resolver.options.size());
}

}  // namespace flyball::node
