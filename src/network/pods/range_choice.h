// The ranges of addresses of the clusters on this machine, of which no two may have the same.
#pragma once

#include <string>
#include <vector>

#include "api/values/ip_address.h"
#include "base/values/result.h"

namespace flyball::network {

inline constexpr char kDefaultPodCidr[] = "10.244.0.0/16";
inline constexpr char kDefaultServiceCidr[] = "10.96.0.0/16";

struct ClusterRanges {
  std::string name;          // NodeNetwork::name, by the data folder
  std::string pod_cidr;      // of all nodes' pods
  std::string service_cidr;  // cluster IPs
  std::string node_cidr;     // of the API server, and of nodes that have network namespaces of their own
  // The same of IPv6. Pods and nodes have both or none; Services may have IPv4 only.
  std::string pod_cidr_v6{}, service_cidr_v6{}, node_cidr_v6{};

  bool has_v6() const { return !pod_cidr_v6.empty(); }
  // Those that are there, IPv4 first.
  std::vector<std::string> PodCidrs() const;
  std::vector<std::string> ServiceCidrs() const;
};

// What the cluster with this data folder had before; or what is asked for; or, in place of a default, the
// next range that no other cluster, link or route of this machine has. Kept in <data_dir>/network.json. Each
// may be followed by a comma and a range of IPv6, which makes the cluster dual-stack. BadRequest, naming the
// flag, if they are anything else. Also removes what clusters have left here whose data folder is gone.
// Clusters that start at once wait for each other.
Result<ClusterRanges> ReserveRanges(const std::string& data_dir, const std::string& pod_cidr,
                                    const std::string& service_cidr);

// Remembers that a program with this data folder has made links, filters and namespaces of NetworkName here,
// so that they go when the folder is gone; and removes what others have left. Returns the name.
Result<std::string> RegisterNetwork(const std::string& data_dir);

// "fb1a2b3c"
std::string NetworkName(const std::string& data_dir);
bool Overlap(const api::Cidr& a, const api::Cidr& b);

}  // namespace flyball::network
