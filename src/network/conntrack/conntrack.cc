#include "network/conntrack/conntrack.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "network/netlink/netlink_message.h"

namespace flyball::network {
namespace {

constexpr std::uint16_t TypeOf(std::uint16_t message) {
  return static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8) | message;
}

struct FlowEnd {
  api::IpAddress source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint8_t protocol = 0;
};

std::uint16_t PortFrom(std::string_view bytes) {
  std::uint16_t port = 0;
  if (bytes.size() == sizeof(port)) std::memcpy(&port, bytes.data(), sizeof(port));
  return ntohs(port);
}

std::optional<FlowEnd> FlowEndFrom(std::string_view tuple) {
  auto parts = ParseAttributes(tuple);
  auto ip = ParseAttributes(parts[CTA_TUPLE_IP]);
  auto proto = ParseAttributes(parts[CTA_TUPLE_PROTO]);
  const bool v4 = ip.count(CTA_IP_V4_SRC) != 0;
  const auto source = AddressIn(ip[v4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC]);
  const auto destination = AddressIn(ip[v4 ? CTA_IP_V4_DST : CTA_IP_V6_DST]);
  const std::string_view number = proto[CTA_PROTO_NUM];
  if (!source || !destination || number.size() != 1) return std::nullopt;
  return FlowEnd{*source, *destination, PortFrom(proto[CTA_PROTO_SRC_PORT]),
                 PortFrom(proto[CTA_PROTO_DST_PORT]), static_cast<std::uint8_t>(number[0])};
}

// What names an entry when it is deleted, as the kernel wrote it.
struct FoundFlow {
  std::uint8_t family = 0;
  std::string tuple, zone;
};

NetlinkMessage DeleteRequest(const FoundFlow& flow) {
  NetlinkMessage request(TypeOf(IPCTNL_MSG_CT_DELETE), NLM_F_REQUEST | NLM_F_ACK);
  request.Body(nfgenmsg{.nfgen_family = flow.family, .version = NFNETLINK_V0, .res_id = 0});
  request.Add(CTA_TUPLE_ORIG | NLA_F_NESTED, flow.tuple);
  if (!flow.zone.empty()) request.Add(CTA_ZONE, flow.zone);
  return request;
}

}  // namespace

Result<std::unique_ptr<Conntrack>> Conntrack::Open() {
  FLYBALL_ASSIGN(auto socket, NetlinkSocket::Open(NETLINK_NETFILTER));
  return std::unique_ptr<Conntrack>(new Conntrack(std::move(socket)));
}

Result<int> Conntrack::DeleteUdp(const std::function<bool(const TrackedFlow&)>& gone) {
  NetlinkMessage dump(TypeOf(IPCTNL_MSG_CT_GET), NLM_F_REQUEST | NLM_F_DUMP);
  dump.Body(nfgenmsg{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = 0});
  std::vector<FoundFlow> found;
  FLYBALL_TRY(socket_->Ask(dump, [&](const NetlinkReply& reply) {
    const auto* header = reply.body<nfgenmsg>();
    if (!header) return;
    auto parts = reply.Attributes(sizeof(nfgenmsg));
    const auto orig = FlowEndFrom(parts[CTA_TUPLE_ORIG]), answer = FlowEndFrom(parts[CTA_TUPLE_REPLY]);
    if (!orig || !answer || orig->protocol != IPPROTO_UDP) return;
    if (!gone({orig->destination, answer->source, orig->destination_port, answer->source_port})) return;
    found.push_back({header->nfgen_family, std::string(parts[CTA_TUPLE_ORIG]), std::string(parts[CTA_ZONE])});
  }));
  int deleted = 0;
  for (const FoundFlow& flow : found) {
    const Status done = socket_->Do(DeleteRequest(flow));
    if (done) ++deleted;
    // It may have ended meanwhile.
    if (!done && !done.error().Is(Reason::kNotFound)) return Unexpected(done.error());
  }
  return deleted;
}

}  // namespace flyball::network
