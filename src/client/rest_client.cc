#include "client/rest_client.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "base/run/notification.h"
#include "base/values/ascii.h"
#include "client/response_error.h"
#include "json/json.h"

namespace flyball {
namespace {

std::string EncodeTarget(const std::string& prefix, const RestRequest& request) {
  std::string target = prefix + request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    if (value.empty()) continue;
    target += separator;
    target += PercentEncode(name);
    target += '=';
    target += PercentEncode(value);
    separator = '&';
  }
  return target;
}

// Between attempts, when the server does not say how long to wait.
constexpr Duration kFirstBackoff = std::chrono::seconds(1);
constexpr Duration kMaxBackoff = std::chrono::seconds(30);

class Bearer final : public Credentials {
 public:
  explicit Bearer(std::string token) : header_("Bearer " + std::move(token)) {}
  Status Authorize(net::Headers& headers) override {
    headers.Set("authorization", header_);
    return {};
  }

 private:
  const std::string header_;
};

}  // namespace

std::shared_ptr<Credentials> BearerToken(std::string token) {
  return std::make_shared<Bearer>(std::move(token));
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

struct RestClient::Core {
  Core(std::shared_ptr<net::Transport> t, const Runtime& r, RestOptions o, std::shared_ptr<Credentials> c)
      : transport(std::move(t)),
        runtime(r),
        options(std::move(o)),
        credentials(std::move(c)),
        tokens(options.burst),
        refilled(r.clock().Steady()) {}

  Result<net::Request> BuildRequest(const RestRequest& request) {
    net::Request out;
    out.method = request.verb;
    out.target = EncodeTarget(options.path_prefix, request);
    out.headers = request.headers;
    out.headers.Set("accept", request.accept);
    out.headers.Set("user-agent", options.user_agent);
    if (!request.body.empty()) out.headers.Set("content-type", request.content_type);
    if (!options.impersonate_user.empty()) out.headers.Set("impersonate-user", options.impersonate_user);
    for (const std::string& group : options.impersonate_groups) out.headers.Add("impersonate-group", group);
    if (!options.impersonate_uid.empty()) out.headers.Set("impersonate-uid", options.impersonate_uid);
    for (const auto& [key, value] : options.impersonate_extra)
      out.headers.Add("impersonate-extra-" + PercentEncode(LowerCase(key)), value);
    out.body = request.body;
    if (credentials) FLYBALL_TRY(credentials->Authorize(out.headers));
    return out;
  }

  // What is sent is counted when its answer begins, or when there is none ("<error>", as client-go says).
  void Count(const std::string& method, int status) {
    MutexLock lock(mu);
    Counter*& counter = counters[{method, status}];
    if (!counter)
      counter = &runtime.metrics.GetCounter(
          "rest_client_requests_total", "Number of HTTP requests, partitioned by status code and method",
          {{"code", status == 0 ? "<error>" : std::to_string(status)}, {"method", method}});
    counter->Add();
  }

  // Takes a token, in advance if there is none: how long to wait until it exists.
  Duration ReserveToken() {
    if (options.qps <= 0) return {};
    MutexLock lock(mu);
    const SteadyTime now = runtime.clock().Steady();
    const double elapsed = std::chrono::duration<double>(now - refilled).count();
    tokens = std::min<double>(options.burst, tokens + elapsed * options.qps) - 1;
    refilled = now;
    if (tokens >= 0) return {};
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens / options.qps));
  }

  const std::shared_ptr<net::Transport> transport;
  const Runtime runtime;
  const RestOptions options;
  const std::shared_ptr<Credentials> credentials;
  std::atomic<std::uint64_t> sent = 0;
  Mutex mu;
  std::map<std::pair<std::string, int>, Counter*> counters FLYBALL_GUARDED_BY(mu);
  double tokens FLYBALL_GUARDED_BY(mu);
  SteadyTime refilled FLYBALL_GUARDED_BY(mu);
};

// One call: an attempt, and as many more as the server asks for. It is the sink of each attempt in turn.
class RestClient::Attempts final : public RestCall,
                                   public net::ResponseSink,
                                   public std::enable_shared_from_this<Attempts> {
 public:
  Attempts(std::shared_ptr<Core> core, RestRequest request, Done done)
      : core_(std::move(core)),
        request_(std::move(request)),
        retries_left_(request_.max_retries >= 0 ? request_.max_retries : core_->options.max_retries),
        done_(std::move(done)) {}

  void Begin() {
    if (request_.cancelled.stop_possible())
      on_stop_.emplace(request_.cancelled, CancelWeak{weak_from_this()});
    const Duration wait = core_->ReserveToken();
    if (wait > Duration::zero())
      SendAfter(wait);
    else
      Send();
  }

  void Cancel() override { Abort(Error(Reason::kCancelled, "the request was cancelled")); }

  void OnHead(int status, const net::Headers& headers) override {
    response_.status = status;
    response_.headers = headers;
    core_->Count(request_.verb, status);
  }
  void OnData(std::string_view data) override { response_.body.append(data); }
  void OnError(const Error& error) override {
    if (response_.status == 0) core_->Count(request_.verb, 0);
    Finish(Unexpected(error));
  }
  void OnEnd() override {
    if (response_.status < 400) return Finish(std::move(response_));
    if (response_.status == 401 && core_->credentials) core_->credentials->Invalidate();
    const Error error = ErrorFromResponse(response_.status, response_.headers, response_.body);
    const bool asked_to = response_.headers.Has("retry-after");
    const bool again = (response_.status == 429 && (asked_to || core_->options.retry_unasked)) ||
                       (response_.status >= 500 && asked_to);
    if (!again || retries_left_ == 0) return Finish(Unexpected(error));
    --retries_left_;
    ForgetCall();
    const int asked = error.details().retry_after_seconds;
    SendAfter(asked > 0 ? std::chrono::seconds(asked) : NextBackoff());
  }

 private:
  struct CancelWeak {
    std::weak_ptr<Attempts> weak;
    void operator()() const {
      if (const auto self = weak.lock()) self->Cancel();
    }
  };

  Duration NextBackoff() {
    const Duration wait = backoff_;
    backoff_ = std::min(backoff_ * 2, kMaxBackoff);
    return wait;
  }

  void SendAfter(Duration wait) {
    MutexLock lock(mu_);
    if (finished_) return;
    timer_ = core_->runtime.executor.PostAfter(wait, [self = shared_from_this()] { self->Send(); });
  }

  void Send() {
    {
      MutexLock lock(mu_);
      if (finished_) return;
      timer_ = kNoTimer;
    }
    response_ = {};
    auto request = core_->BuildRequest(request_);
    if (!request) return Finish(Unexpected(request.error()));
    ++core_->sent;
    auto call = core_->transport->Start(std::move(*request), shared_from_this());
    bool abandoned = false;
    {
      MutexLock lock(mu_);
      abandoned = finished_;
      // The answer may already have come, and a retry may already be waiting or under way.
      if (!finished_ && timer_ == kNoTimer) {
        call_ = call;
        ArmTimeout();
      }
    }
    if (abandoned) call->Cancel();
  }

  void ArmTimeout() FLYBALL_REQUIRES(mu_) {
    const Duration limit = request_.timeout > Duration::zero() ? request_.timeout : core_->options.timeout;
    if (limit <= Duration::zero()) return;
    timer_ = core_->runtime.executor.PostAfter(limit, [weak = weak_from_this()] {
      if (const auto self = weak.lock())
        self->Abort(Error(Reason::kTimeout, "the server did not answer in time"));
    });
  }

  void ForgetCall() {
    MutexLock lock(mu_);
    call_ = nullptr;
    StopTimer();
  }
  void StopTimer() FLYBALL_REQUIRES(mu_) {
    if (timer_ != kNoTimer) core_->runtime.executor.Cancel(timer_);
    timer_ = kNoTimer;
  }

  void Abort(const Error& error) {
    std::shared_ptr<net::Call> call;
    {
      MutexLock lock(mu_);
      call = call_;
    }
    Finish(Unexpected(error));
    if (call) call->Cancel();
  }

  void Finish(Result<RestResponse> result) {
    Done done;
    {
      MutexLock lock(mu_);
      if (finished_) return;
      finished_ = true;
      call_ = nullptr;
      StopTimer();
      done = std::move(done_);
    }
    done(std::move(result));
  }

  const std::shared_ptr<Core> core_;
  const RestRequest request_;
  int retries_left_;
  Duration backoff_ = kFirstBackoff;
  RestResponse response_;
  std::optional<std::stop_callback<CancelWeak>> on_stop_;

  Mutex mu_;
  Done done_ FLYBALL_GUARDED_BY(mu_);
  bool finished_ FLYBALL_GUARDED_BY(mu_) = false;
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
  // Of the attempt under way, or until the next one.
  TimerId timer_ FLYBALL_GUARDED_BY(mu_) = kNoTimer;
};

// Passes an answer on and counts it.
class RestClient::CountedSink final : public net::ResponseSink {
 public:
  CountedSink(std::shared_ptr<Core> core, std::string method, std::shared_ptr<net::ResponseSink> sink)
      : core_(std::move(core)), method_(std::move(method)), sink_(std::move(sink)) {}
  void OnHead(int status, const net::Headers& headers) override {
    answered_ = true;
    core_->Count(method_, status);
    sink_->OnHead(status, headers);
  }
  void OnData(std::string_view data) override { sink_->OnData(data); }
  void OnEnd() override { sink_->OnEnd(); }
  void OnError(const Error& error) override {
    if (!answered_) core_->Count(method_, 0);
    sink_->OnError(error);
  }

 private:
  const std::shared_ptr<Core> core_;
  const std::string method_;
  const std::shared_ptr<net::ResponseSink> sink_;
  bool answered_ = false;
};

RestClient::RestClient(std::shared_ptr<net::Transport> transport, const Runtime& runtime, RestOptions options,
                       std::shared_ptr<Credentials> credentials)
    : core_(std::make_shared<Core>(std::move(transport), runtime, std::move(options),
                                   std::move(credentials))) {}

RestClient::~RestClient() = default;

const Runtime& RestClient::runtime() const {
  return core_->runtime;
}

std::uint64_t RestClient::requests() const {
  return core_->sent;
}

std::shared_ptr<RestCall> RestClient::Start(RestRequest request, Done done) {
  auto call = std::make_shared<Attempts>(core_, std::move(request), std::move(done));
  call->Begin();
  return call;
}

Result<RestResponse> RestClient::Do(RestRequest request) {
  const bool may_block = core_->runtime.may_block;
  if (!may_block) request.max_retries = 0;
  auto answer = std::make_shared<Notification<Result<RestResponse>>>();
  const auto call =
      Start(std::move(request), [answer](Result<RestResponse> result) { answer->Set(std::move(result)); });
  if (!may_block && !answer->ready()) {
    call->Cancel();
    return Unexpected(Error(Reason::kTimeout, "the request did not complete at once and may not block"));
  }
  return answer->Wait();
}

Result<json::Value> RestClient::DoJson(RestRequest request) {
  auto response = Do(std::move(request));
  if (!response) return Unexpected(response.error());
  return json::Parse(response->body);
}

namespace {

// A call that never was.
class NoCall final : public net::Call {
 public:
  void Cancel() override {}
  void Pause() override {}
  void Resume() override {}
};

}  // namespace

std::shared_ptr<net::Call> RestClient::Stream(RestRequest request, std::shared_ptr<net::ResponseSink> sink) {
  auto built = core_->BuildRequest(request);
  if (!built) {
    core_->runtime.executor.Post([sink, error = built.error()] { sink->OnError(error); });
    return std::make_shared<NoCall>();
  }
  ++core_->sent;
  return core_->transport->Start(std::move(*built),
                                 std::make_shared<CountedSink>(core_, request.verb, std::move(sink)));
}

void RestClient::OpenWebSocket(RestRequest request, std::vector<std::string> subprotocols,
                               UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) {
  auto built = core_->BuildRequest(request);
  if (!built) return done(Unexpected(built.error()));
  core_->transport->OpenWebSocket(std::move(*built), std::move(subprotocols), std::move(done));
}

}  // namespace flyball
