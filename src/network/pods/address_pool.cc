#include "network/pods/address_pool.h"

#include <algorithm>

namespace flyball::network {
namespace {

constexpr std::size_t kLast = 15;

std::uint32_t LowBits(const api::IpAddress& address) {
  std::uint32_t bits = 0;
  for (std::size_t i = kLast - 3; i <= kLast; ++i) bits = bits << 8 | address.bytes[i];
  return bits;
}

}  // namespace

api::IpAddress AddressAt(const api::Cidr& range, std::uint32_t number) {
  api::IpAddress address = range.Network();
  std::uint32_t bits = LowBits(address) + number;
  for (std::size_t i = kLast; i > kLast - 4; --i, bits >>= 8)
    address.bytes[i] = static_cast<std::uint8_t>(bits);
  return address;
}

AddressPool::AddressPool(const api::Cidr& range) : range_(range) {
  const int host_bits = (range.address.is_v4 ? 32 : 128) - range.prefix;
  end_ = host_bits >= 16 ? kMostAddresses : 1u << host_bits;
  if (range.address.is_v4) --end_;  // the broadcast address
}

api::IpAddress AddressPool::At(std::uint32_t number) const {
  return AddressAt(range_, number);
}

std::uint32_t AddressPool::NumberOf(const api::IpAddress& address) const {
  return LowBits(address) - LowBits(range_.Network());
}

Result<api::IpAddress> AddressPool::Take() {
  while (next_ < end_ && used_.contains(next_)) ++next_;
  std::uint32_t number = next_;
  if (next_ < end_) {
    ++next_;
  } else if (!released_.empty()) {
    number = released_.front();
    released_.pop_front();
  } else {
    return Unexpected(Error(Reason::kServiceUnavailable,
                            "no IP addresses available in range: " + range_.Network().ToString() + "/" +
                                std::to_string(range_.prefix)));
  }
  used_.insert(number);
  return At(number);
}

bool AddressPool::Keep(const api::IpAddress& address) {
  if (address.is_v4 != range_.address.is_v4 || !range_.Contains(address)) return false;
  return used_.insert(NumberOf(address)).second;
}

void AddressPool::Release(const api::IpAddress& address) {
  if (address.is_v4 != range_.address.is_v4 || !range_.Contains(address)) return;
  const std::uint32_t number = NumberOf(address);
  // Those beyond `next_` have not had their turn yet.
  if (used_.erase(number) > 0 && number < next_) released_.push_back(number);
}

}  // namespace flyball::network
