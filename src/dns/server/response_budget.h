// ResponseBudget: what keeps the server from being used against others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/run/clock.h"
#include "base/run/random.h"

namespace flyball::dns {

// The sender of a datagram may be forged, and then the answer hits somebody who has not asked. So UDP answers
// that are more than kFactor times as long as their question have a budget per client, in bytes a second.
// What is beyond it is answered with TC and nothing else, which is no longer than the question; who did ask,
// asks again by TCP. Clients share a fixed number of budgets by a seeded hash, so that memory is fixed and
// nobody can aim at another's. IPv6 clients are counted by their /64.
//
// Confined to its owner.
class ResponseBudget {
 public:
  static constexpr std::size_t kFactor = 3;
  struct Limits {
    double bytes_per_second = 1 << 20;
    double burst = 4 << 20;
  };

  ResponseBudget(Limits limits, Random& random)
      : limits_(limits), seed_(random.Next()), slots_(std::make_unique<Slots>()) {}

  // Whether an answer of this size may go to this client (IPv4 as ::ffff:a.b.c.d); if so, it is paid for.
  bool Allows(const std::array<std::uint8_t, 16>& client, std::size_t query_bytes, std::size_t answer_bytes,
              SteadyTime now);

 private:
  struct Slot {
    double spent = 0;  // bytes that have not been forgotten yet
    SteadyTime when{};
  };
  using Slots = std::array<Slot, 4096>;

  const Limits limits_;
  const std::uint64_t seed_;
  const std::unique_ptr<Slots> slots_;
};

}  // namespace flyball::dns
