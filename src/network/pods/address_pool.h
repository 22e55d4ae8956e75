// AddressPool: the addresses of one range of a node's pods.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "api/values/ip_address.h"
#include "base/values/result.h"

namespace flyball::network {

// The first address of the range is the gateway's. One that was released is given out again only when all
// others have been: who still talks to the pod that had it should not meet another. Thread-compatible.
class AddressPool {
 public:
  // More than a node has pods; IPv6 ranges are not counted through, so that those from this number on are
  // free.
  static constexpr std::uint32_t kMostAddresses = 1u << 16;

  explicit AddressPool(const api::Cidr& range);

  const api::Cidr& range() const { return range_; }
  api::IpAddress gateway() const { return At(kGateway); }

  // ServiceUnavailable if all are in use.
  Result<api::IpAddress> Take();
  // In use since before this pool was made. False if it is not of this range, or taken.
  bool Keep(const api::IpAddress& address);
  void Release(const api::IpAddress& address);

 private:
  static constexpr std::uint32_t kGateway = 1;
  api::IpAddress At(std::uint32_t number) const;
  std::uint32_t NumberOf(const api::IpAddress& address) const;

  const api::Cidr range_;
  std::uint32_t end_;                  // after the last one that pods may have
  std::uint32_t next_ = kGateway + 1;  // never used so far, from here on
  std::deque<std::uint32_t> released_;
  std::set<std::uint32_t> used_;
};

// The address of that number in a range, counted from its network address.
api::IpAddress AddressAt(const api::Cidr& range, std::uint32_t number);

}  // namespace flyball::network
