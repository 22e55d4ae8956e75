// The client's side of an HTTP/2 connection: many calls at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "net/exchange/client_call.h"
#include "net/exchange/client_context.h"
#include "net/h2/h2_session.h"

namespace flyball::net {

// Guarantees: a call on a stream the server refused, or did not look at before its GOAWAY, goes back to the
// pool to be sent again. A server that has gone silent is noticed by a ping without an answer. Confined to
// the channel's loop.
class H2ClientSession final : public H2Session, public ClientConnection {
 public:
  H2ClientSession(Channel& channel, std::shared_ptr<const ClientContext> context,
                  std::shared_ptr<ConnectionOwner> owner);
  ~H2ClientSession() override;

  void Submit(std::shared_ptr<ClientCall> call) override;
  void Drop(ClientCall& call) override;
  void OnPauseChanged(ClientCall& call) override;
  void OnUploadGrown(ClientCall& call) override;
  std::size_t capacity() const override;

  void OnNotified(Notifiable&) override {}
  void OnRoundEnd() override;
  bool Finished() const override;
  SteadyTime Deadline() const override;
  void OnDeadline(SteadyTime now) override;
  void OnClosed(const Error& error) override;

 protected:
  void AppendData(std::int32_t stream_id, std::size_t size, std::string& out) override;
  void OnReceived() override;

 private:
  struct Stream {
    std::shared_ptr<ClientCall> call;
    std::size_t body_sent = 0;
    int status = 0;
    Headers headers;
    bool ended = false;
    std::size_t unconsumed = 0;  // received while paused: the window stays smaller by it
  };
  struct Callbacks;

  Stream* Find(std::int32_t id);
  void OnHeadersComplete(Stream& stream);
  void OnData(std::int32_t id, std::string_view data);
  void OnStreamClosed(std::int32_t id, std::uint32_t code);
  void Leave();

  const std::shared_ptr<const ClientContext> context_;
  const std::shared_ptr<ConnectionOwner> owner_;
  std::unordered_map<std::int32_t, Stream> streams_;
  bool going_ = false;
  bool room_made_ = false;  // a stream has ended in this round
  SteadyTime last_received_;
  SteadyTime ping_sent_ = SteadyTime::max();
};

}  // namespace flyball::net
