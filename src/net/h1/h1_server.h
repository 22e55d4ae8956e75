// The server's side of an HTTP/1.1 connection: one request at a time, in order; keep-alive; chunked both
// ways.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/exchange/server_context.h"
#include "net/exchange/server_stream.h"
#include "net/h1/h1_parser.h"
#include "net/io/channel.h"

namespace flyball::net {

// Flow: kRequest -> (whole request) -> kAnswer -> (answer sent) -> kRequest ... -> kFinished.
// What arrives while an answer is under way is kept (pipelining), up to a bound, then reading stops.
// Everything kept of a request that is not complete yet counts in the server's max_buffered_bytes. Confined
// to the channel's loop.
class H1ServerSession final : public Session {
 public:
  H1ServerSession(Channel& channel, std::shared_ptr<ServerContext> context, Peer peer);
  ~H1ServerSession() override;

  void OnBytes(std::string_view data) override;
  void OnEndOfInput() override;
  void Fill(std::string& out, std::size_t limit) override;
  void OnNotified(Notifiable&) override {}
  bool WantsBytes() const override;
  bool Finished() const override { return state_ == State::kFinished && control_.empty(); }
  SteadyTime Deadline() const override;
  void OnDeadline(SteadyTime now) override;
  // After this answer, or now if there is none under way, the connection ends.
  void BeginShutdown() override;
  void OnClosed(const Error& error) override;

 private:
  enum class State { kRequest, kAnswer, kRaw, kFinished };

  void ParseInput();
  // Accounts for what is kept of the request under way; `rest`: received, not yet parsed.
  bool KeepWithinBounds(std::size_t rest);
  bool CheckHead();
  void ExpectContinue();
  void StartAnswer();
  void Refuse(int status, std::string_view reason, std::string_view message);
  void AppendHead(const ServerStream::Head& head, std::string& out);
  // True if the answer is complete.
  bool AppendAnswer(std::string& out, std::size_t limit);
  void AppendBody(std::size_t n, std::string& out);
  void FinishAnswer();
  SteadyTime Now() const { return channel_.loop().clock().Steady(); }

  Channel& channel_;
  const std::shared_ptr<ServerContext> context_;
  const Peer peer_;
  State state_ = State::kRequest;
  std::optional<H1Parser> parser_;  // of the request under way; none while idle
  std::unique_ptr<BodyShare> body_share_;
  std::size_t head_bytes_ = 0;  // of the request under way
  bool head_checked_ = false;
  std::string input_;    // received, not yet parsed
  std::string control_;  // to be sent before anything else: 100 Continue, refusals
  std::shared_ptr<ServerStream> stream_;
  bool http10_ = false;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool head_sent_ = false;
  bool shutting_down_ = false;
  bool input_ended_ = false;
  bool first_ = true;
  SteadyTime since_;  // the first byte of the request under way, or the beginning of idleness
};

}  // namespace flyball::net
