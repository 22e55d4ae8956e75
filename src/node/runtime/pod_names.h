// The files by which processes of a pod find names: hosts and resolv.conf (upstream: kubelet's dns.Configurer
// and managed hosts file).
#pragma once

#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball::node {

// The cluster's DNS, for pods whose dnsPolicy asks for it.
struct ClusterDns {
  std::vector<std::string> servers{};  // empty: there is none, and such pods ask whom the machine asks
  std::string domain = "cluster.local";
};

// What the pod's processes take for their host's name; and its fully qualified one, empty without a
// subdomain.
std::string PodHostname(const Pod& pod);
std::string PodFqdn(const Pod& pod, const std::string& cluster_domain);

// `machine` is the machine's own file.
std::string HostsText(const Pod& pod, const std::vector<std::string>& ips, const ClusterDns& dns,
                      const std::string& machine);
std::string ResolvText(const Pod& pod, const ClusterDns& dns, const std::string& machine);

}  // namespace flyball::node
