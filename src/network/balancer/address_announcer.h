// AddressAnnouncer: makes addresses the machine's own, and tells the link that they are here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/balancer/balancer_addresses.h"
#include "network/netlink/netlink.h"

namespace flyball::network {

// The addresses are on a link of the cluster that leads nowhere: it goes with the cluster, and the kernel
// answers questions for them (ARP) on all links. Thread-compatible.
class AddressAnnouncer {
 public:
  // `link` is there, in the namespace that the calling thread is in. Addresses within the ranges that it has
  // are those of an earlier program: they are known, and go with the next Update unless they are wanted.
  static Result<std::unique_ptr<AddressAnnouncer>> Open(const std::string& link,
                                                        const std::vector<AddressRange>& ranges);

  // Adds and removes what is different. What is new is announced by a gratuitous ARP on the link of that
  // network, so that neighbours forget who had it. IPv4 only: others are an error.
  Status Update(const std::vector<api::IpAddress>& addresses);

 private:
  AddressAnnouncer(std::unique_ptr<Netlink> netlink, std::string link)
      : netlink_(std::move(netlink)), link_(std::move(link)) {}
  Status Announce(const api::IpAddress& address);

  const std::unique_ptr<Netlink> netlink_;
  const std::string link_;
  std::vector<api::IpAddress> present_;
};

}  // namespace flyball::network
