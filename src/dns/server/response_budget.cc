#include "dns/server/response_budget.h"

#include <algorithm>

namespace flyball::dns {
namespace {

constexpr std::size_t kPrefixBytes = 8;  // of IPv6
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

std::uint64_t HashOf(const std::array<std::uint8_t, 16>& client, std::uint64_t seed) {
  const bool mapped = std::all_of(client.begin(), client.begin() + 10, [](std::uint8_t b) { return b == 0; });
  std::uint64_t hash = seed;
  for (std::size_t i = mapped ? 8 : 0; i < (mapped ? client.size() : kPrefixBytes); ++i) {
    hash = (hash ^ client[i]) * kMultiplier;
    hash ^= hash >> 29;
  }
  return hash ^ hash >> 32;
}

}  // namespace

bool ResponseBudget::Allows(const std::array<std::uint8_t, 16>& client, std::size_t query_bytes,
                            std::size_t answer_bytes, SteadyTime now) {
  if (answer_bytes <= kFactor * query_bytes) return true;
  Slot& slot = (*slots_)[HashOf(client, seed_) % slots_->size()];
  const double seconds = std::chrono::duration<double>(now - slot.when).count();
  const double spent = std::max(0.0, slot.spent - seconds * limits_.bytes_per_second);
  const double cost = static_cast<double>(answer_bytes - kFactor * query_bytes);
  if (spent + cost > limits_.burst) return false;
  slot = {spent + cost, now};
  return true;
}

}  // namespace flyball::dns
