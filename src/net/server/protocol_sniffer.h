// ProtocolSniffer: tells HTTP/2 by prior knowledge from HTTP/1.1 on a plain-text connection, by its first
// bytes.
#pragma once

#include <memory>
#include <string>

#include "net/exchange/server_context.h"
#include "net/io/channel.h"

namespace flyball::net {

// Replaces itself by the right session as soon as it knows. Confined to the channel's loop.
class ProtocolSniffer final : public Session {
 public:
  ProtocolSniffer(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer);

  void OnBytes(std::string_view data) override;
  void OnEndOfInput() override { finished_ = true; }
  void Fill(std::string&, std::size_t) override {}
  void OnNotified(Notifiable&) override {}
  bool Finished() const override { return finished_; }
  SteadyTime Deadline() const override { return deadline_; }
  void OnDeadline(SteadyTime) override { finished_ = true; }
  void BeginShutdown() override { finished_ = true; }
  void OnClosed(const Error&) override {}

 private:
  Channel& channel_;
  const std::shared_ptr<ServerContext> context_;
  Peer peer_;
  std::string seen_;
  bool finished_ = false;
  SteadyTime deadline_;
};

}  // namespace flyball::net
