// CidrSet: the ranges of nodes within one range of the cluster (upstream: cidrset).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/values/ip_address.h"

namespace flyball::controllers {

// Goes round: one that was freed is given again only after all others. Thread-compatible.
class CidrSet {
 public:
  // Requires that the mask is not shorter than the range's.
  CidrSet(const api::Cidr& cluster, int mask_size);

  bool is_v4() const { return cluster_.address.is_v4; }
  // The next one that is free; nothing if none is.
  std::optional<std::string> Next();
  // Whatever overlaps the range is in use. False if it is not of the cluster's range.
  bool Occupy(const api::Cidr& range);
  void ReleaseAll();

 private:
  // Upstream's limit: 2^16 ranges, whatever the masks say.
  static constexpr int kMostBits = 16;

  api::Cidr At(std::uint32_t number) const;
  std::uint32_t NumberOf(const api::IpAddress& address) const;

  const api::Cidr cluster_;
  const int mask_size_;
  std::vector<bool> used_;
  std::uint32_t next_ = 0;
};

}  // namespace flyball::controllers
