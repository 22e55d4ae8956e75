#include "net/grpc/grpc_channel.h"

#include <atomic>
#include <optional>

#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "base/run/thread.h"
#include "net/client/http_client.h"
#include "net/exchange/upload.h"
#include "net/grpc/grpc_message.h"

namespace flyball::net {
namespace {

// How soon a server that could not be reached is tried again.
constexpr Duration kReconnect = std::chrono::milliseconds(100);

// Deadlines of all channels. The thread starts with the first.
TimerThread& Deadlines() {
  static auto* timers = new TimerThread("grpc-deadline");
  return *timers;
}

// States: head -> data -> trailers -> told. The answer, the deadline and a broken connection race to tell.
class UnaryCall final : public TrailerSink, public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(std::size_t max_message, UniqueFunction<void(GrpcAnswer)> done)
      : frames_(max_message), done_(std::move(done)) {}

  void Begin(Transport& transport, Request request, Duration timeout) {
    timer_ =
        Deadlines().Add(RealClock().Steady() + timeout, [self = shared_from_this()] { self->OnDeadline(); });
    auto call = transport.Start(std::move(request), shared_from_this());
    MutexLock lock(mu_);
    call_ = std::move(call);
    if (cancelled_) call_->Cancel();
  }

  void OnSubmitted() override { sent_ = true; }
  void OnHead(int status, const Headers& headers) override { status_.OnHead(status, headers); }
  void OnData(std::string_view data) override {
    frames_.Add(data);
    for (;;) {
      auto next = frames_.Next();
      if (!next) return Fail(next.error());
      if (!*next) return;
      ++messages_;
      message_ = **next;
    }
  }
  void OnTrailers(const Headers& trailers) override { status_.OnTrailers(trailers); }
  void OnEnd() override { Tell(Outcome()); }
  void OnError(const Error& error) override {
    Tell(Unexpected(GrpcError(GrpcCode::kUnavailable, error.message(), error.reason())));
  }

 private:
  Result<std::string> Outcome() {
    FLYBALL_TRY(status_.Outcome());
    if (frames_.inside_message() || messages_ > 1)
      return Unexpected(GrpcError(GrpcCode::kInternal, "the response is not one whole message"));
    if (messages_ == 0) return Unexpected(GrpcError(GrpcCode::kInternal, "the response has no message"));
    return std::move(message_);
  }

  void OnDeadline() {
    Fail(GrpcError(GrpcCode::kDeadlineExceeded, "context deadline exceeded", Reason::kTimeout));
  }
  // Tells, and lets go of the call.
  void Fail(const Error& error) {
    Tell(Unexpected(error));
    MutexLock lock(mu_);
    cancelled_ = true;
    if (call_) call_->Cancel();
  }
  void Tell(Result<std::string> outcome) {
    if (told_.exchange(true)) return;
    Deadlines().Cancel(timer_);
    const auto done = std::move(done_);
    done({std::move(outcome), sent_});
  }

  GrpcFrameReader frames_;
  GrpcStatusReader status_;
  std::string message_;
  int messages_ = 0;
  std::atomic<std::uint64_t> timer_{0};
  std::atomic<bool> sent_{false}, told_{false};
  UniqueFunction<void(GrpcAnswer)> done_;  // of who tells
  Mutex mu_;
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
  bool cancelled_ FLYBALL_GUARDED_BY(mu_) = false;
};

// States: head -> data -> trailers -> ended.
class StreamReceiver final : public UploadingSink {
 public:
  StreamReceiver(std::size_t max_message, std::shared_ptr<GrpcStreamSink> sink,
                 std::shared_ptr<Upload> upload)
      : frames_(max_message), sink_(std::move(sink)), upload_(std::move(upload)) {}

  std::shared_ptr<Upload> upload() override { return upload_; }
  void OnHead(int status, const Headers& headers) override { status_.OnHead(status, headers); }
  void OnData(std::string_view data) override {
    if (!sink_) return;
    frames_.Add(data);
    for (;;) {
      auto next = frames_.Next();
      if (!next) return End(Unexpected(next.error()));
      if (!*next) return;
      sink_->OnMessage(**next);
    }
  }
  void OnTrailers(const Headers& trailers) override { status_.OnTrailers(trailers); }
  void OnEnd() override { End(status_.Outcome()); }
  void OnError(const Error& error) override {
    End(Unexpected(GrpcError(GrpcCode::kUnavailable, error.message(), error.reason())));
  }

 private:
  void End(const Status& status) {
    if (const auto sink = std::exchange(sink_, nullptr)) sink->OnEnd(status);
    upload_->End();
  }

  GrpcFrameReader frames_;
  GrpcStatusReader status_;
  std::shared_ptr<GrpcStreamSink> sink_;  // until its end
  const std::shared_ptr<Upload> upload_;
};

class UploadingStream final : public GrpcStream {
 public:
  UploadingStream(std::shared_ptr<Upload> upload, std::shared_ptr<net::Call> call)
      : upload_(std::move(upload)), call_(std::move(call)) {}
  ~UploadingStream() override { call_->Cancel(); }

  void Send(std::string_view message) override { upload_->Write(FramedMessage(message)); }
  void Finish() override { upload_->End(); }

 private:
  const std::shared_ptr<Upload> upload_;
  const std::shared_ptr<net::Call> call_;
};

}  // namespace

Result<std::unique_ptr<GrpcChannel>> GrpcChannel::Make(GrpcChannelOptions options) {
  FLYBALL_ASSIGN(auto transport, NewHttpClient(options.client));
  return std::make_unique<GrpcChannel>(std::move(transport), std::move(options));
}

Result<std::unique_ptr<GrpcChannel>> GrpcChannel::Make(const std::string& url) {
  GrpcChannelOptions options;
  options.client.url = url;
  return Make(std::move(options));
}

Result<std::string> GrpcChannel::Call(const std::string& method, std::string_view message,
                                      const GrpcCallOptions& options) const {
  const SteadyTime deadline = RealClock().Steady() + options.timeout;
  for (;;) {
    auto outcome = CallOnce(method, message, deadline - RealClock().Steady());
    const bool again = options.wait_for_ready && !outcome && outcome.error().Is(Reason::kConnection) &&
                       RealClock().Steady() + kReconnect < deadline;
    if (!again) return outcome;
    Notification<bool> waited;
    Deadlines().Add(RealClock().Steady() + kReconnect, [&waited] { waited.Set(true); });
    waited.Wait();
  }
}

Result<std::string> GrpcChannel::CallOnce(const std::string& method, std::string_view message,
                                          Duration timeout) const {
  const auto told = std::make_shared<Notification<Result<std::string>>>();
  Start(method, message, timeout, [told](GrpcAnswer answer) { told->Set(std::move(answer.message)); });
  return told->Wait();
}

Request GrpcChannel::RequestFor(const std::string& method) const {
  Request request;
  request.method = "POST";
  request.target = method;
  request.headers = options_.metadata;
  request.headers.Set("te", "trailers");
  request.headers.Set("content-type", "application/grpc");
  return request;
}

void GrpcChannel::Start(const std::string& method, std::string_view message, Duration timeout,
                        UniqueFunction<void(GrpcAnswer)> done) const {
  Request request = RequestFor(method);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  request.headers.Set("grpc-timeout", std::to_string(std::max<std::int64_t>(left, 1)) + "m");
  request.body = FramedMessage(message);
  const auto call = std::make_shared<UnaryCall>(options_.max_message, std::move(done));
  call->Begin(*transport_, std::move(request), timeout);
}

std::unique_ptr<GrpcStream> GrpcChannel::Open(const std::string& method,
                                              std::shared_ptr<GrpcStreamSink> sink) const {
  const auto upload = std::make_shared<Upload>();
  const auto receiver = std::make_shared<StreamReceiver>(options_.max_message, std::move(sink), upload);
  return std::make_unique<UploadingStream>(upload, transport_->Start(RequestFor(method), receiver));
}

}  // namespace flyball::net
