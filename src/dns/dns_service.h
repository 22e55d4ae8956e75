// The Service that pods find the name server by: kube-dns in kube-system, as every cluster has it.
#pragma once

#include <string>

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::dns {

struct DnsServiceOptions {
  std::string cluster_ip;  // that pods have in their resolv.conf
  std::string endpoint;    // where the server is: an address that pods reach; not a loopback one
  int port = 53;
};

// Keeps the Service and its one EndpointSlice as they should be, as long as the manager runs.
void KeepDnsService(Manager& manager, DnsServiceOptions options);

// The tenth address of a service range, where kubeadm puts the name server, too. BadRequest if the range is
// too small or no range.
Result<std::string> DnsAddressIn(const std::string& service_range);

}  // namespace flyball::dns
