#include "net/server/server_connections.h"

#include <unistd.h>

#include <vector>

#include "net/h1/h1_server.h"
#include "net/h2/h2_server.h"
#include "net/server/protocol_sniffer.h"

namespace flyball::net {

ServerConnections::ServerConnections(std::shared_ptr<IoLoop> loop, std::shared_ptr<ServerContext> context,
                                     std::shared_ptr<TlsContext> tls)
    : loop_(std::move(loop)), context_(std::move(context)), tls_(std::move(tls)) {}

ServerConnections::~ServerConnections() = default;

void ServerConnections::Accept(int fd) {
  const bool full = context_->open_connections.fetch_add(1) >= context_->limits.max_connections;
  if (full || context_->shutting_down) {
    context_->open_connections.fetch_sub(1);
    close(fd);
    return;
  }
  const auto& limits = context_->limits;
  auto channel = std::make_shared<Channel>(
      loop_, fd,
      Channel::Options{std::min<Duration>(limits.head_timeout, std::chrono::seconds(10)),
                       limits.write_timeout});
  channels_.insert(channel);
  auto on_closed = [self = shared_from_this(), weak = std::weak_ptr(channel)](const Error&) {
    self->channels_.erase(weak.lock());
    self->context_->open_connections.fetch_sub(1);
  };
  Channel* raw = channel.get();
  auto ready = [self = shared_from_this(), raw] { self->OnReady(*raw); };
  std::unique_ptr<TlsStream> tls;
  if (tls_) {
    auto stream = TlsStream::New(tls_, fd, "");
    if (!stream) return on_closed(stream.error());
    tls = std::move(*stream);
  }
  channel->Start(std::move(tls), std::move(ready), std::move(on_closed));
}

void ServerConnections::OnReady(Channel& channel) {
  Peer peer;
  peer.address = channel.peer_address();
  if (!channel.tls()) {
    channel.SetSession(std::make_unique<ProtocolSniffer>(channel, context_, std::move(peer)));
    return;
  }
  channel.tls()->Describe(peer);
  if (channel.tls()->speaks_h2())
    channel.SetSession(std::make_unique<H2ServerSession>(channel, context_, std::move(peer)));
  else
    channel.SetSession(std::make_unique<H1ServerSession>(channel, context_, std::move(peer)));
}

void ServerConnections::BeginShutdown() {
  const std::vector<std::shared_ptr<Channel>> channels(channels_.begin(), channels_.end());
  for (const auto& channel : channels) channel->BeginShutdown();
}

void ServerConnections::CloseAll() {
  const std::vector<std::shared_ptr<Channel>> channels(channels_.begin(), channels_.end());
  for (const auto& channel : channels)
    channel->Close(Error(Reason::kConnection, "the server is shutting down"));
}

}  // namespace flyball::net
