// The server's side of an HTTP/2 connection.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "net/exchange/server_context.h"
#include "net/exchange/server_stream.h"
#include "net/h2/h2_session.h"

namespace flyball::net {

// Flow of a stream: headers -> body -> (complete) -> handler -> answer -> closed. Requests are handed to
// handlers when they are complete. Guarantees: at most max_streams_per_connection handlers run for one
// connection, even if the client resets streams as fast as it opens them (CVE-2023-44487); more wait, and too
// many waiting end the connection. Confined to the channel's loop.
class H2ServerSession final : public H2Session {
 public:
  H2ServerSession(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer);
  ~H2ServerSession() override;

  void Fill(std::string& out, std::size_t limit) override;
  void OnNotified(Notifiable& item) override;
  void OnRoundEnd() override;
  bool Finished() const override;
  SteadyTime Deadline() const override;
  void OnDeadline(SteadyTime now) override;
  void BeginShutdown() override;
  void OnClosed(const Error& error) override;

 protected:
  void AppendData(std::int32_t stream_id, std::size_t size, std::string& out) override;

 private:
  struct Stream {
    std::int32_t id = 0;
    std::shared_ptr<Request> request;
    std::unique_ptr<BodyShare> body_share;
    std::shared_ptr<ServerStream> answer;  // once dispatched or refused
    std::size_t header_bytes = 0;
    std::size_t discarded = 0;  // of a refused body
    bool websocket = false;     // extended CONNECT
    bool complete = false;
    bool has_output = false;
    int refusal = 0;   // an HTTP status
    SteadyTime since;  // receiving, then of the last progress in sending
    Headers trailers;  // of the answer
  };
  struct Callbacks;
  // Handlers outlive connections: they count themselves out through this.
  struct Running {
    std::size_t count = 0;
    H2ServerSession* session = nullptr;
  };

  void SubmitSettings();
  // What follows the answer's body; false if nothing does.
  bool SubmitTrailers(std::int32_t id);
  Stream* Find(std::int32_t id);
  int OnHeader(Stream& stream, std::string_view name, std::string_view value);
  void OnHeadersComplete(Stream& stream, bool end_stream);
  int OnData(Stream& stream, std::string_view data);
  int Discard(Stream& stream, std::size_t size);
  void OnComplete(Stream& stream);
  void OnEnd(Stream& stream);
  void NoteOutput(Stream& stream);
  void OnStreamClosed(std::int32_t id);
  void DispatchReady();
  void StartHandler(Stream& stream);
  void MakeAnswer(Stream& stream);
  void Refuse(Stream& stream, int status);
  void Update(Stream& stream);
  void SubmitHead(Stream& stream, const ServerStream::Head& head);
  void SubmitContinue(Stream& stream);
  // Lets the client open no more streams here; the connection ends with those there are.
  void Leave();
  void Terminate(std::uint32_t code);
  void Sweep(SteadyTime now);

  const std::shared_ptr<ServerContext> context_;
  const Peer peer_;
  std::unordered_map<std::int32_t, Stream> streams_;
  std::deque<std::int32_t> ready_;  // complete, waiting for a handler
  const std::shared_ptr<Running> running_ = std::make_shared<Running>();
  std::size_t receiving_ = 0;    // streams not complete
  std::size_t with_output_ = 0;  // streams whose answer has bytes to be sent
  bool going_ = false;
  bool any_request_ = false;
  SteadyTime idle_since_;
  SteadyTime sweep_at_ = SteadyTime::max();
};

}  // namespace flyball::net
