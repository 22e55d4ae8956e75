// The client's side of an HTTP/1.1 connection: one call at a time, kept alive between calls.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/exchange/client_call.h"
#include "net/exchange/client_context.h"
#include "net/h1/h1_parser.h"
#include "net/io/channel.h"

namespace flyball::net {

// The request's head and body as they go over the wire. `extra` is appended to the head as it is.
std::string EncodeH1Request(const Request& request, const Origin& origin, std::string_view extra);

// Confined to the channel's loop.
class H1ClientSession final : public Session, public ClientConnection {
 public:
  H1ClientSession(Channel& channel, std::shared_ptr<const ClientContext> context,
                  std::shared_ptr<ConnectionOwner> owner);
  ~H1ClientSession() override;

  void Submit(std::shared_ptr<ClientCall> call) override;
  void Drop(ClientCall& call) override;
  void OnPauseChanged(ClientCall& call) override;
  std::size_t capacity() const override { return call_ || finished_ ? 0 : 1; }

  void OnBytes(std::string_view data) override;
  void OnEndOfInput() override;
  void Fill(std::string& out, std::size_t limit) override;
  void OnNotified(Notifiable&) override {}
  bool WantsBytes() const override { return !(call_ && call_->paused() && head_delivered_); }
  bool Finished() const override { return finished_; }
  SteadyTime Deadline() const override;
  void OnDeadline(SteadyTime now) override;
  void OnClosed(const Error& error) override;

 private:
  void Deliver();
  void FinishCall();
  void Leave();

  Channel& channel_;
  const std::shared_ptr<const ClientContext> context_;
  const std::shared_ptr<ConnectionOwner> owner_;
  std::shared_ptr<ClientCall> call_;
  std::string output_;
  std::size_t output_sent_ = 0;
  std::optional<H1Parser> parser_;
  std::string input_;
  bool head_delivered_ = false;
  bool any_byte_ = false;  // of the answer under way
  bool reused_ = false;
  bool finished_ = false;
  SteadyTime idle_since_;
};

}  // namespace flyball::net
