// FaultTransport: connects a manager to the API server and injects everything that can go wrong: rejected and
// failing requests, responses that get lost after the write was committed, watches that lag or break, and the
// death of the manager itself.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/status.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "json/json.h"
#include "net/http/http.h"

namespace flyball::controllers::testing {

// Each is a probability per request, or per event of a watch.
struct Faults {
  double conflict = 0;     // a write fails with 409 and is not done
  double refused = 0;      // a request fails with 500 and is not done
  double failed = 0;       // a write is done but fails with 500
  double lost = 0;         // a write is done but its response is lost
  double unreachable = 0;  // a request does not reach the server
  double lag = 0;          // the response to a list, or a watch event, and everything behind it is late
  Duration longest_lag = std::chrono::seconds(3);
  double cut = 0;  // a watch breaks before an event
};

// Confined to one SimExecutor. Requests complete inline, except late ones.
class FaultTransport final : public net::Transport, public std::enable_shared_from_this<FaultTransport> {
 public:
  FaultTransport(std::shared_ptr<net::Transport> server, Executor& executor, std::uint64_t seed)
      : server_(std::move(server)), executor_(executor), random_(seed) {}

  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override;
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    done(Unexpected(BadRequest("not here")));
  }

  void SetFaults(const Faults& faults) { faults_ = faults; }
  // After the write of that number (1 is the next) has been done, nothing passes in either direction. kNever
  // reverts that.
  static constexpr int kNever = 0;
  void DieAfterWrites(int count) { writes_left_ = count; }
  bool dead() const { return dead_; }
  // How many writes were done.
  int writes() const { return writes_; }
  // "PUT /apis/... -> lost": what happened to the writes, for the report of a failure.
  const std::vector<std::string>& log() const { return log_; }

 private:
  class Late;
  class Answered;
  class Discard;

  bool Chance(double p) { return p > 0 && random_.Unit() < p; }
  std::shared_ptr<net::Call> StartWrite(net::Request request, std::shared_ptr<net::ResponseSink> sink);
  static std::shared_ptr<net::Call> Fail(net::ResponseSink& sink, const Error& error);
  static std::shared_ptr<net::Call> Break(net::ResponseSink& sink);
  Duration Lag();

  const std::shared_ptr<net::Transport> server_;
  Executor& executor_;
  Random random_;
  Faults faults_;
  int writes_ = 0;
  int writes_left_ = kNever;
  bool dead_ = false;
  std::vector<std::string> log_;
};

class FaultTransport::Answered final : public net::Call {
 public:
  void Cancel() override {}
  void Pause() override {}
  void Resume() override {}
};

// Receives a response that nobody gets to see.
class FaultTransport::Discard final : public net::ResponseSink {
 public:
  void OnHead(int, const net::Headers&) override {}
  void OnData(std::string_view) override {}
  void OnEnd() override {}
  void OnError(const Error&) override {}
};

// A stream whose events arrive late but in order, until it breaks.
class FaultTransport::Late final : public net::ResponseSink,
                                   public net::Call,
                                   public std::enable_shared_from_this<Late> {
 public:
  Late(std::shared_ptr<FaultTransport> transport, std::shared_ptr<net::ResponseSink> sink, bool may_break)
      : transport_(std::move(transport)), sink_(std::move(sink)), may_break_(may_break) {}

  void Begin(net::Request request) {
    auto call = transport_->server_->Start(std::move(request), shared_from_this());
    if (!ended_) call_ = std::move(call);
  }

  void OnHead(int status, const net::Headers& headers) override {
    Push([status, headers](net::ResponseSink& sink) { sink.OnHead(status, headers); });
  }
  void OnData(std::string_view data) override {
    if (may_break_ && !ended_ && transport_->Chance(transport_->faults_.cut)) return Break();
    Push([text = std::string(data)](net::ResponseSink& sink) { sink.OnData(text); });
  }
  void OnEnd() override {
    Push([](net::ResponseSink& sink) { sink.OnEnd(); });
    End();
  }
  void OnError(const Error& error) override {
    Push([error](net::ResponseSink& sink) { sink.OnError(error); });
    End();
  }

  void Cancel() override {
    if (std::exchange(cancelled_, true)) return;
    const auto call = std::exchange(call_, nullptr);
    ended_ = true;
    if (call) call->Cancel();
    sink_->OnError(Error(Reason::kCancelled, "the request was cancelled"));
  }
  void Pause() override {}
  void Resume() override {}

 private:
  using Piece = std::function<void(net::ResponseSink&)>;

  void Push(Piece piece) {
    if (ended_ || cancelled_) return;
    pieces_.push_back(std::move(piece));
    due_ = std::max(due_, transport_->executor_.clock().Steady() + transport_->Lag());
    transport_->executor_.PostAt(due_, [self = shared_from_this()] { self->DeliverOne(); });
  }
  void DeliverOne() {
    if (cancelled_ || transport_->dead_ || pieces_.empty()) return;
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    piece(*sink_);
  }
  // Whatever was in flight is lost with the connection.
  void Break() {
    pieces_.clear();
    const auto call = call_;
    OnError(Error(Reason::kConnection, "the watch broke"));
    // Not from within a call of its own.
    if (call) transport_->executor_.Post([call] { call->Cancel(); });
  }
  void End() {
    ended_ = true;
    call_ = nullptr;
  }

  const std::shared_ptr<FaultTransport> transport_;
  const std::shared_ptr<net::ResponseSink> sink_;
  const bool may_break_;
  bool ended_ = false;      // nothing more arrives from the server
  bool cancelled_ = false;  // nobody reads any more
  SteadyTime due_{};
  std::deque<Piece> pieces_;
  std::shared_ptr<net::Call> call_;
};

inline std::shared_ptr<net::Call> FaultTransport::Start(net::Request request,
                                                        std::shared_ptr<net::ResponseSink> sink) {
  if (dead_ || Chance(faults_.unreachable)) return Break(*sink);
  if (request.method != "GET") return StartWrite(std::move(request), std::move(sink));
  if (Chance(faults_.refused)) return Fail(*sink, InternalError("injected"));
  const bool watch = request.target.find("watch=true") != std::string::npos;
  // Only requests that fill a cache may be late: the single thread waits for all other reads.
  if (!watch && request.target.find("resourceVersion=") == std::string::npos)
    return server_->Start(std::move(request), std::move(sink));
  auto late = std::make_shared<Late>(shared_from_this(), std::move(sink), watch);
  late->Begin(std::move(request));
  return late;
}

inline std::shared_ptr<net::Call> FaultTransport::StartWrite(net::Request request,
                                                             std::shared_ptr<net::ResponseSink> sink) {
  const std::string what = request.method + " " + request.target;
  if (Chance(faults_.conflict)) {
    log_.push_back(what + " -> 409, not done");
    return Fail(*sink, Error(Reason::kConflict, "injected conflict"));
  }
  if (Chance(faults_.refused)) {
    log_.push_back(what + " -> 500, not done");
    return Fail(*sink, InternalError("injected"));
  }
  const bool failed = Chance(faults_.failed), lost = Chance(faults_.lost);
  ++writes_;
  dead_ = writes_left_ > 0 && --writes_left_ == 0;
  log_.push_back(what + (dead_ ? " -> died" : failed ? " -> done, 500" : lost ? " -> done, lost" : ""));
  if (!dead_ && !failed && !lost) return server_->Start(std::move(request), std::move(sink));
  (void)server_->Start(std::move(request), std::make_shared<Discard>());
  return failed && !dead_ ? Fail(*sink, InternalError("injected")) : Break(*sink);
}

inline std::shared_ptr<net::Call> FaultTransport::Fail(net::ResponseSink& sink, const Error& error) {
  sink.OnHead(error.code(), {{"content-type", "application/json"}});
  sink.OnData(json::Write(api::StatusFromError(error)));
  sink.OnEnd();
  return std::make_shared<Answered>();
}

inline std::shared_ptr<net::Call> FaultTransport::Break(net::ResponseSink& sink) {
  sink.OnError(Error(Reason::kConnection, "injected: the connection broke"));
  return std::make_shared<Answered>();
}

inline Duration FaultTransport::Lag() {
  if (!Chance(faults_.lag)) return {};
  return std::chrono::duration_cast<Duration>(faults_.longest_lag * random_.Unit());
}

}  // namespace flyball::controllers::testing
