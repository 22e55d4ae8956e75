#include "dns/server/responder.h"

#include <algorithm>

namespace flyball::dns {
namespace {

// Types that would answer a short question with everything there is, and those that are no types of records.
bool IsRefusedType(std::uint16_t type) {
  switch (type) {
    case kTypeAxfr:
    case kTypeIxfr:
    case kTypeAny:
    case kTypeMaila:
    case kTypeMailb:
    case kTypeOpt:
      return true;
    default:
      return false;
  }
}

Message ReplyTo(const Message& query) {
  Message reply;
  reply.id = query.id;
  reply.response = true;
  reply.opcode = query.opcode;
  reply.recursion_desired = query.recursion_desired;
  reply.checking_disabled = query.checking_disabled;
  reply.question = query.question;
  if (query.edns) reply.edns = Edns{.udp_size = kMaxUdpAnswer, .dnssec_ok = query.edns->dnssec_ok};
  return reply;
}

std::size_t LimitFor(const Message& query, const Asker& asker) {
  if (asker.transport == Transport::kTcp) return kMaxPacketBytes;
  const std::size_t wanted = query.edns ? query.edns->udp_size : 512;
  return std::clamp<std::size_t>(wanted, 512, kMaxUdpAnswer);
}

api::IpAddress AddressOf(const Asker& asker) {
  api::IpAddress ip{.bytes = asker.ip};
  ip.is_v4 = std::all_of(asker.ip.begin(), asker.ip.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
             asker.ip[10] == 0xff && asker.ip[11] == 0xff;
  return ip;
}

}  // namespace

std::vector<api::Cidr> PrivateRanges() {
  std::vector<api::Cidr> ranges;
  for (const char* text : {"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
                           "100.64.0.0/10", "::1/128", "fe80::/10", "fc00::/7"})
    ranges.push_back(*api::ParseCidr(text));
  return ranges;
}

// One question on its way.
struct Responder::Conversation {
  Asker asker;
  std::size_t query_bytes = 0, limit = 512;
  SteadyTime began{};
  bool dnssec_ok = false, checking_disabled = false, in_zone = false;
  Message reply;
  Name elsewhere{};  // what is left to be asked of an upstream
  Reply send;
};

Responder::Responder(const Zone& zone, Forwarder* forwarder, std::vector<api::Cidr> allow,
                     ResponseBudget::Limits budget, const Clock& clock, Random& random, Metrics& metrics)
    : zone_(zone),
      forwarder_(forwarder),
      allow_(std::move(allow)),
      clock_(clock),
      budget_(budget, random),
      metrics_(metrics, zone.domain().ToText()) {}

void Responder::Answer(std::string_view packet, const Asker& asker, Reply reply) {
  Message query;
  const Parsed parsed = Parse(packet, query);
  if (parsed == Parsed::kNotDns || query.response) return metrics_.CountDropped();
  Conversation conversation{.asker = asker,
                            .query_bytes = packet.size(),
                            .limit = LimitFor(query, asker),
                            .began = clock_.Steady(),
                            .dnssec_ok = query.edns && query.edns->dnssec_ok,
                            .checking_disabled = query.checking_disabled,
                            .reply = ReplyTo(query),
                            .send = std::move(reply)};
  Message& answer = conversation.reply;
  if (query.opcode != 0)
    answer.rcode = kNotImp;
  else if (parsed == Parsed::kBad || !query.question || !query.answers.empty() || !query.authorities.empty())
    answer.rcode = kFormErr;
  else if (query.edns && query.edns->version > 0)
    answer.rcode = kBadVers;
  else if (!AnswerAtOnce(conversation))
    return AskElsewhere(std::move(conversation));
  Send(conversation);
}

bool Responder::IsAllowed(const Asker& asker) const {
  const api::IpAddress ip = AddressOf(asker);
  return std::any_of(allow_.begin(), allow_.end(), [&](const api::Cidr& cidr) {
    return cidr.address.is_v4 == ip.is_v4 && cidr.Contains(ip);
  });
}

// False: the rest of the answer has to come from elsewhere.
bool Responder::AnswerAtOnce(Conversation& conversation) {
  Message& reply = conversation.reply;
  const Question& question = *reply.question;
  reply.recursion_available = forwarder_ != nullptr;
  const bool refused = question.klass != kClassIn || IsRefusedType(question.type) ||
                       !IsAllowed(conversation.asker) || (forwarder_ && forwarder_->TakeProbe(question.name));
  if (refused) {
    reply.rcode = kRefused;
    return true;
  }
  const Zone::Outcome outcome = zone_.Answer(reply, conversation.elsewhere);
  conversation.in_zone = outcome != Zone::Outcome::kNotOurs;
  if (outcome == Zone::Outcome::kAnswered) return true;
  // A CNAME without its target is an answer; the client can follow it.
  if (outcome == Zone::Outcome::kAlias) return !forwarder_ || !reply.recursion_desired;
  conversation.elsewhere = question.name;
  if (forwarder_ && reply.recursion_desired) return false;
  reply.rcode = kRefused;
  return true;
}

void Responder::AskElsewhere(Conversation conversation) {
  const Forwarder::Asked asked{
      .question = {.name = conversation.elsewhere, .type = conversation.reply.question->type},
      .dnssec_ok = conversation.dnssec_ok,
      .checking_disabled = conversation.checking_disabled};
  forwarder_->Resolve(asked, [this, conversation = std::move(conversation)](const auto& answer) mutable {
    OnAnswer(conversation, answer);
  });
}

void Responder::OnAnswer(Conversation& conversation,
                         const Result<std::shared_ptr<const UpstreamAnswer>>& answer) {
  Message& reply = conversation.reply;
  if (answer)
    (*answer)->CopyTo(reply, clock_.Steady());
  else if (reply.answers.empty())
    reply.rcode = kServFail;
  Send(conversation);
}

void Responder::Send(Conversation& conversation) {
  Message& reply = conversation.reply;
  std::string packet = Encode(reply, conversation.limit);
  const SteadyTime now = clock_.Steady();
  const bool limited = conversation.asker.transport == Transport::kUdp &&
                       !budget_.Allows(conversation.asker.ip, conversation.query_bytes, packet.size(), now);
  if (limited) {
    metrics_.CountLimited();
    for (auto* section : {&reply.answers, &reply.authorities, &reply.additionals}) section->clear();
    reply.truncated = true;
    packet = Encode(reply, conversation.limit);
  }
  metrics_.Count({.in_zone = conversation.in_zone,
                  .type = reply.question ? reply.question->type : std::uint16_t{0},
                  .rcode = reply.rcode,
                  .transport = conversation.asker.transport,
                  .v6 = !AddressOf(conversation.asker).is_v4,
                  .took = now - conversation.began,
                  .query_bytes = conversation.query_bytes,
                  .answer_bytes = packet.size()});
  conversation.send(std::move(packet));
}

}  // namespace flyball::dns
