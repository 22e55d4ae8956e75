// Responder: the whole way from a packet to its answer, whatever it came by.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/values/ip_address.h"
#include "base/run/clock.h"
#include "dns/forward/forwarder.h"
#include "dns/server/dns_metrics.h"
#include "dns/server/response_budget.h"
#include "dns/zone/zone.h"

namespace flyball::dns {

// Who has sent a packet, and how.
struct Asker {
  std::array<std::uint8_t, 16> ip{};  // IPv4 as ::ffff:a.b.c.d
  Transport transport = Transport::kUdp;
};

// The largest UDP answer: it crosses the Internet unfragmented (DNS flag day 2020).
inline constexpr std::size_t kMaxUdpAnswer = 1232;

// "Private": loopback, link-local, RFC 1918, RFC 6598 and unique local addresses. A server that answers all
// the world is what attackers look for.
std::vector<api::Cidr> PrivateRanges();

// Confined to the loop of its forwarder.
//
// Refused: who is not in `allow`; zone transfers, ANY and other classes; names of others without the bit that
// asks for recursion. Not answered: what is shorter than a header, and what is an answer itself, so that two
// servers never talk for ever.
class Responder {
 public:
  // All outlive it. `forwarder` null: nothing is asked elsewhere, and what is not the cluster's is refused.
  Responder(const Zone& zone, Forwarder* forwarder, std::vector<api::Cidr> allow,
            ResponseBudget::Limits budget, const Clock& clock, Random& random, Metrics& metrics);

  using Reply = UniqueFunction<void(std::string)>;
  // `reply` runs at most once on the loop, for most questions within the call.
  void Answer(std::string_view packet, const Asker& asker, Reply reply);

 private:
  struct Conversation;

  bool IsAllowed(const Asker& asker) const;
  bool AnswerAtOnce(Conversation& conversation);
  void AskElsewhere(Conversation conversation);
  void OnAnswer(Conversation& conversation, const Result<std::shared_ptr<const UpstreamAnswer>>& answer);
  void Send(Conversation& conversation);

  const Zone& zone_;
  Forwarder* const forwarder_;
  const std::vector<api::Cidr> allow_;
  const Clock& clock_;
  ResponseBudget budget_;
  DnsMetrics metrics_;
};

}  // namespace flyball::dns
