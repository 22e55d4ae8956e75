#include "controllers/nodeipam/cidr_set.h"

#include <algorithm>

namespace flyball::controllers {
namespace {

int FamilyBits(bool v4) {
  return v4 ? 32 : 128;
}

// Where the family's bits begin in IpAddress::bytes.
int FirstBit(bool v4) {
  return v4 ? 96 : 0;
}

bool BitOf(const api::IpAddress& address, int bit) {
  return (address.bytes[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0;
}

}  // namespace

CidrSet::CidrSet(const api::Cidr& cluster, int mask_size)
    : cluster_{cluster.Network(), cluster.prefix},
      mask_size_(std::min(mask_size, FamilyBits(cluster.address.is_v4))),
      used_(std::size_t{1} << std::clamp(mask_size_ - cluster.prefix, 0, kMostBits)) {}

api::Cidr CidrSet::At(std::uint32_t number) const {
  api::Cidr range{cluster_.address, mask_size_};
  for (int bit = mask_size_ - 1; number > 0; --bit, number >>= 1)
    if (number & 1) {
      const int at = FirstBit(is_v4()) + bit;
      range.address.bytes[static_cast<std::size_t>(at / 8)] |= static_cast<std::uint8_t>(1 << (7 - at % 8));
    }
  return range;
}

std::uint32_t CidrSet::NumberOf(const api::IpAddress& address) const {
  std::uint32_t number = 0;
  for (int bit = cluster_.prefix; bit < mask_size_; ++bit)
    number = number << 1 | (BitOf(address, FirstBit(is_v4()) + bit) ? 1u : 0u);
  return number;
}

std::optional<std::string> CidrSet::Next() {
  for (std::size_t tried = 0; tried < used_.size(); ++tried) {
    const std::uint32_t number = next_;
    next_ = static_cast<std::uint32_t>((next_ + 1) % used_.size());
    if (used_[number]) continue;
    used_[number] = true;
    return At(number).address.ToString() + "/" + std::to_string(mask_size_);
  }
  return std::nullopt;
}

bool CidrSet::Occupy(const api::Cidr& range) {
  if (range.address.is_v4 != is_v4()) return false;
  if (range.prefix <= cluster_.prefix) {
    if (!range.Contains(cluster_.address)) return false;
    std::fill(used_.begin(), used_.end(), true);
    return true;
  }
  if (!cluster_.Contains(range.Network())) return false;
  const std::uint32_t first = NumberOf(range.Network());
  const std::uint64_t count =
      range.prefix >= mask_size_ ? 1 : std::uint64_t{1} << (mask_size_ - range.prefix);
  for (std::uint64_t i = first; i < first + count && i < used_.size(); ++i) used_[i] = true;
  return true;
}

void CidrSet::ReleaseAll() {
  std::fill(used_.begin(), used_.end(), false);
}

}  // namespace flyball::controllers
