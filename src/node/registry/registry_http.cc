#include "node/registry/registry_http.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/run/notification.h"
#include "net/client/http_client.h"
#include "net/http/origin.h"
#include "net/http/redirect.h"

namespace flyball::node {
namespace {

// As Go's client.
constexpr int kMostRedirects = 10;
// What is received and not yet read, about.
constexpr std::size_t kHighWater = 1 << 20, kLowWater = 256 << 10;

constexpr char kCancelledText[] = "the pull was stopped";

// Keeps what arrives until it is read. Thread-safe.
class ReadableSink final : public net::ResponseSink {
 public:
  void OnHead(int status, const net::Headers& headers) override {
    MutexLock lock(mu_);
    status_ = status;
    headers_ = headers;
    changed_.NotifyAll();
  }
  void OnData(std::string_view data) override {
    MutexLock lock(mu_);
    data_.append(data);
    PauseIfFull();
    changed_.NotifyAll();
  }
  void OnEnd() override {
    MutexLock lock(mu_);
    ended_ = true;
    changed_.NotifyAll();
  }
  void OnError(const Error& error) override {
    MutexLock lock(mu_);
    if (!error_) error_ = error;
    changed_.NotifyAll();
  }

  void SetCall(std::shared_ptr<net::Call> call) {
    MutexLock lock(mu_);
    call_ = std::move(call);
    PauseIfFull();
  }
  Status WaitForHead() {
    MutexLock lock(mu_);
    while (status_ == 0 && !error_ && !ended_) changed_.Wait(mu_);
    if (status_ == 0) return Unexpected(error_ ? *error_ : Error(Reason::kConnection, "EOF"));
    return {};
  }
  Result<std::string> Take() {
    std::string data;
    std::shared_ptr<net::Call> resume;
    {
      MutexLock lock(mu_);
      while (data_.empty() && !error_ && !ended_) changed_.Wait(mu_);
      // What is there is good, unless nobody wants it any more.
      if (error_ && (data_.empty() || error_->Is(Reason::kCancelled))) return Unexpected(*error_);
      data = data_.substr(0, kLowWater);
      data_.erase(0, data.size());
      if (data_.size() < kLowWater && std::exchange(paused_, false)) resume = call_;
    }
    if (resume) resume->Resume();
    return data;
  }
  int status() const {
    MutexLock lock(mu_);
    return status_;
  }
  net::Headers headers() const {
    MutexLock lock(mu_);
    return headers_;
  }

 private:
  // Under the lock: otherwise a Take in between resumes first, and the call stays paused for good.
  void PauseIfFull() FLYBALL_REQUIRES(mu_) {
    if (data_.size() <= kHighWater || !call_) return;
    paused_ = true;
    call_->Pause();
  }

  mutable Mutex mu_;
  CondVar changed_;
  int status_ FLYBALL_GUARDED_BY(mu_) = 0;
  net::Headers headers_ FLYBALL_GUARDED_BY(mu_);
  std::string data_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false, paused_ FLYBALL_GUARDED_BY(mu_) = false;
  std::optional<Error> error_ FLYBALL_GUARDED_BY(mu_);
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
};

class StreamedResponse final : public RegistryResponse {
 public:
  StreamedResponse(Executor& timers, Duration stall, std::shared_ptr<ReadableSink> sink,
                   std::shared_ptr<net::Call> call)
      : timers_(timers), stall_(stall), sink_(std::move(sink)), call_(std::move(call)) {}
  ~StreamedResponse() override { call_->Cancel(); }

  int status() const override { return status_; }
  const net::Headers& headers() const override { return headers_; }
  Status WaitForHead() {
    FLYBALL_TRY(Limited([this] { return sink_->WaitForHead(); }));
    status_ = sink_->status();
    headers_ = sink_->headers();
    return {};
  }
  Result<std::string> Read() override {
    return Limited([this] { return sink_->Take(); });
  }

 private:
  // Waits no longer than the limit.
  template <typename Wait>
  std::invoke_result_t<Wait> Limited(Wait wait) {
    const TimerId timer = timers_.PostAfter(stall_, [sink = sink_, call = call_] {
      sink->OnError(Error(Reason::kTimeout, "no data was received for too long"));
      call->Cancel();
    });
    auto result = wait();
    timers_.Cancel(timer);
    return result;
  }

  Executor& timers_;
  const Duration stall_;
  const std::shared_ptr<ReadableSink> sink_;
  const std::shared_ptr<net::Call> call_;
  int status_ = 0;
  net::Headers headers_;
};

// "https://host:port" and the rest.
std::pair<std::string, std::string> SplitUrl(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find_first_of("/?#", host), url.size());
  std::string target = url.substr(path, std::min(url.find('#', path), url.size()) - path);
  if (!target.starts_with('/')) target = "/" + target;
  return {url.substr(0, path), std::move(target)};
}

std::string GoMethod(const std::string& method) {
  return method == "POST" ? "Post" : "Get";
}

}  // namespace

Result<std::string> RegistryResponse::ReadAll(std::size_t max_size) {
  std::string all;
  for (;;) {
    FLYBALL_ASSIGN(const std::string piece, Read());
    if (piece.empty()) return all;
    all += piece;
    if (all.size() > max_size)
      return Unexpected(
          BadRequest("the registry's answer is larger than " + std::to_string(max_size) + " bytes"));
  }
}

RegistryHttp::RegistryHttp(Executor& timers, RegistryHttpOptions options)
    : timers_(timers), options_(std::move(options)) {}
RegistryHttp::~RegistryHttp() = default;

Result<net::Transport*> RegistryHttp::TransportTo(const std::string& origin, const std::string& authority) {
  MutexLock lock(mu_);
  auto& transport = transports_[origin];
  if (!transport) {
    net::ClientOptions options;
    options.url = origin;
    options.connect_timeout = options_.connect;
    if (options_.tls) options.tls = options_.tls(authority);
    FLYBALL_ASSIGN(transport, net::NewHttpClient(options));
  }
  return transport.get();
}

Result<std::unique_ptr<RegistryResponse>> RegistryHttp::SendOnce(const std::string& url,
                                                                 net::Request request) {
  auto [origin, target] = SplitUrl(url);
  const std::string method = request.method;
  if (!origin.starts_with("https://") && !origin.starts_with("http://"))
    return Unexpected(Error(Reason::kConnection, "unsupported protocol scheme in \"" + url + "\""));
  FLYBALL_TRY(net::ParseOrigin(origin));
  FLYBALL_ASSIGN(net::Transport* const transport, TransportTo(origin, origin.substr(origin.find("://") + 3)));
  request.target = std::move(target);
  request.headers.Set("user-agent", "flyball");
  auto sink = std::make_shared<ReadableSink>();
  if (!Track(sink)) return Unexpected(Error(Reason::kCancelled, kCancelledText));
  auto call = transport->Start(std::move(request), sink);
  sink->SetCall(call);
  auto response = std::make_unique<StreamedResponse>(timers_, options_.stall, sink, call);
  if (const Status head = response->WaitForHead(); !head)
    return Unexpected(
        head.error().Annotate("failed to do request: " + GoMethod(method) + " \"" + url + "\""));
  return std::unique_ptr<RegistryResponse>(std::move(response));
}

Result<std::unique_ptr<RegistryResponse>> RegistryHttp::Send(const std::string& url, net::Request request) {
  std::string at = url;
  for (int redirects = 0;; ++redirects) {
    FLYBALL_ASSIGN(auto response, SendOnce(at, request));
    const std::string location(response->headers().Get("location"));
    if (!net::IsRedirect(response->status()) || location.empty() || request.method != "GET") return response;
    if (redirects == kMostRedirects)
      return Unexpected(Error(Reason::kConnection, "Get \"" + location + "\": stopped after 10 redirects"));
    const std::string next = net::ResolveLocation(at, location);
    if (at.starts_with("https://") && next.starts_with("http://"))
      return Unexpected(
          Error(Reason::kConnection, "refused to follow a redirect from HTTPS to \"" + next + "\""));
    if (SplitUrl(next).first != SplitUrl(at).first) request.headers.Remove("authorization");
    at = next;
  }
}

bool RegistryHttp::Track(const std::shared_ptr<net::ResponseSink>& sink) {
  MutexLock lock(mu_);
  std::erase_if(live_, [](const auto& known) { return known.expired(); });
  live_.push_back(sink);
  return !cancelled_;
}

void RegistryHttp::Cancel() {
  MutexLock lock(mu_);
  cancelled_ = true;
  for (const auto& known : live_)
    if (const auto sink = known.lock()) sink->OnError(Error(Reason::kCancelled, kCancelledText));
}

void RegistryHttp::Sleep(Duration duration) {
  auto woken = std::make_shared<Notification<bool>>();
  timers_.PostAfter(duration, [woken] { woken->Set(true); });
  woken->Wait();
}

}  // namespace flyball::node
