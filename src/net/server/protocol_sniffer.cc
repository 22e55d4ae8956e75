#include "net/server/protocol_sniffer.h"

#include "net/h1/h1_server.h"
#include "net/h2/h2_server.h"

namespace flyball::net {

namespace {
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
}

ProtocolSniffer::ProtocolSniffer(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer)
    : channel_(channel),
      context_(std::move(context)),
      peer_(std::move(peer)),
      deadline_(channel.loop().clock().Steady() + context_->limits.head_timeout) {}

void ProtocolSniffer::OnBytes(std::string_view data) {
  seen_.append(data);
  const std::string_view begin = std::string_view(seen_).substr(0, kPreface.size());
  const bool maybe_h2 = begin == kPreface.substr(0, begin.size());
  if (maybe_h2 && begin.size() < kPreface.size()) return;
  std::unique_ptr<Session> next;
  if (maybe_h2)
    next = std::make_unique<H2ServerSession>(channel_, context_, std::move(peer_));
  else
    next = std::make_unique<H1ServerSession>(channel_, context_, std::move(peer_));
  Session& session = *next;
  channel_.SetSession(std::move(next));  // keeps this object until the loop's next round
  session.OnBytes(seen_);
}

}  // namespace flyball::net
