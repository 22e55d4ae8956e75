#include "dns/server/dns_metrics.h"

#include "dns/packet/message.h"

namespace flyball::dns {
namespace {

// CoreDNS counts these by name and the rest as "other".
constexpr std::array<std::uint16_t, 9> kCountedTypes = {kTypeA,   kTypeAaaa, kTypeCname, kTypeMx, kTypeNs,
                                                        kTypePtr, kTypeSoa,  kTypeSrv,   kTypeTxt};

std::size_t SlotOfType(std::uint16_t type) {
  for (std::size_t i = 0; i < kCountedTypes.size(); ++i)
    if (kCountedTypes[i] == type) return i;
  return kCountedTypes.size();
}

}  // namespace

DnsMetrics::DnsMetrics(Metrics& metrics, std::string zone)
    : metrics_(metrics),
      zones_{".", std::move(zone)},
      limited_(metrics.GetCounter("flyball_dns_responses_limited_total",
                                  "Answers cut to TC because the client's budget for UDP was spent.")),
      dropped_(metrics.GetCounter("flyball_dns_packets_dropped_total",
                                  "Packets without an answer: no DNS, or answers themselves.")) {
  for (std::size_t i = 0; i < zones_.size(); ++i)
    durations_[i] = &metrics.GetHistogram(
        "coredns_dns_request_duration_seconds",
        "Histogram of the time (in seconds) each request took per zone.",
        {0.00001, 0.00005, 0.00025, 0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096}, {{"zone", zones_[i]}});
}

Counter& DnsMetrics::Requests(const Sample& sample) {
  const std::size_t type = SlotOfType(sample.type);
  const bool tcp = sample.transport == Transport::kTcp;
  Counter*& counter = requests_[((type * 2 + sample.in_zone) * 2 + tcp) * 2 + sample.v6];
  if (!counter)
    counter = &metrics_.GetCounter(
        "coredns_dns_requests_total", "Counter of DNS requests made per zone, protocol and family.",
        {{"zone", zones_[sample.in_zone]},
         {"proto", tcp ? "tcp" : "udp"},
         {"family", sample.v6 ? "2" : "1"},
         {"type", type == kCountedTypes.size() ? "other" : TypeName(sample.type)}});
  return *counter;
}

Counter& DnsMetrics::Responses(const Sample& sample) {
  const std::size_t rcode = std::min<std::size_t>(sample.rcode, kRcodes - 1);
  Counter*& counter = responses_[rcode * 2 + sample.in_zone];
  if (!counter)
    counter = &metrics_.GetCounter("coredns_dns_responses_total", "Counter of response status codes.",
                                   {{"zone", zones_[sample.in_zone]},
                                    {"rcode", rcode == kRcodes - 1 ? "other" : RcodeName(sample.rcode)}});
  return *counter;
}

void DnsMetrics::Count(const Sample& sample) {
  Requests(sample).Add();
  Responses(sample).Add();
  durations_[sample.in_zone]->Observe(std::chrono::duration<double>(sample.took).count());
}

}  // namespace flyball::dns
