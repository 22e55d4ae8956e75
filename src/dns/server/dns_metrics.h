// DnsMetrics: what is asked and how it is answered, under the names that CoreDNS uses.
#pragma once

#include <array>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/clock.h"

namespace flyball::dns {

enum class Transport { kUdp, kTcp };

// Confined to the server's loop: handles are looked up once and kept.
class DnsMetrics {
 public:
  DnsMetrics(Metrics& metrics, std::string zone);

  struct Sample {
    bool in_zone = false;
    std::uint16_t type = 0, rcode = 0;
    Transport transport = Transport::kUdp;
    bool v6 = false;
    Duration took{};
    std::size_t query_bytes = 0, answer_bytes = 0;
  };
  void Count(const Sample& sample);
  void CountLimited() { limited_.Add(); }
  void CountDropped() { dropped_.Add(); }

 private:
  static constexpr std::size_t kTypes = 10, kRcodes = 8;
  Counter& Requests(const Sample& sample);
  Counter& Responses(const Sample& sample);

  Metrics& metrics_;
  const std::array<std::string, 2> zones_;  // "." and the cluster's
  std::array<Counter*, 2 * 2 * 2 * kTypes> requests_{};
  std::array<Counter*, 2 * kRcodes> responses_{};
  std::array<Histogram*, 2> durations_{};
  Counter& limited_;
  Counter& dropped_;
};

}  // namespace flyball::dns
