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

// Those of IPv4 are on a link of the cluster that leads nowhere: it goes with the cluster, and the kernel
// answers questions for them (ARP) on all links. Of IPv6 it answers (NDP) only on the link that has the
// address: so they are on the link of that network, if there is one, and go with this object.
// Thread-compatible.
class AddressAnnouncer {
 public:
  // `link` is there, in the namespace that the calling thread is in. Addresses within the ranges that it has
  // are those of an earlier program: they are known, and go with the next Update unless they are wanted.
  static Result<std::unique_ptr<AddressAnnouncer>> Open(const std::string& link,
                                                        const std::vector<AddressRange>& ranges);
  ~AddressAnnouncer();

  // Adds and removes what is different. What is new is announced on the link of that network, by a gratuitous
  // ARP or an unsolicited neighbor advertisement, so that neighbours forget who had it.
  Status Update(const std::vector<api::IpAddress>& addresses);

 private:
  AddressAnnouncer(std::unique_ptr<Netlink> netlink, std::string link)
      : netlink_(std::move(netlink)), link_(std::move(link)) {}
  struct Present {
    api::IpAddress address;
    std::string link;  // where it is
  };

  void Find(const std::vector<AddressRange>& ranges, const std::vector<Link>& links,
            const std::vector<LinkAddress>& addresses);
  Status Remove(const Present& present);
  Status Add(const api::IpAddress& address);
  // Those whose network has the address; none if a router leads it here.
  Result<std::vector<Link>> LinksOf(const api::IpAddress& address);

  const std::unique_ptr<Netlink> netlink_;
  const std::string link_;
  std::vector<Present> present_;
};

}  // namespace flyball::network
