#include "server/auth/remote/remote_calls.h"

#include <utility>

namespace flyball::server {
namespace {

Error Stopped() {
  return Error(Reason::kCancelled, "the server is shutting down");
}

}  // namespace

// Something a coroutine waits for. The first outcome counts.
class RemoteCalls::Pending {
 public:
  using Done = UniqueFunction<void(Result<net::Response>)>;
  explicit Pending(Done done) : done_(std::move(done)) {}

  void Finish(Result<net::Response> outcome) {
    Done done;
    std::shared_ptr<net::Call> call;
    {
      MutexLock lock(mu_);
      done = std::exchange(done_, nullptr);
      call = std::exchange(call_, nullptr);
    }
    if (call && !outcome) call->Cancel();
    if (done) done(std::move(outcome));
  }

  // What is to be cancelled if it ends early.
  void SetCall(std::shared_ptr<net::Call> call) {
    {
      MutexLock lock(mu_);
      if (done_) {
        call_ = std::move(call);
        return;
      }
    }
    call->Cancel();
  }

 private:
  Mutex mu_;
  Done done_ FLYBALL_GUARDED_BY(mu_);
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
};

// Those under way.
class RemoteCalls::Calls {
 public:
  // The number to remove it by, or why it may not begin.
  Result<std::uint64_t> Add(std::shared_ptr<Pending> pending) {
    MutexLock lock(mu_);
    if (stopped_) return Unexpected(Stopped());
    if (pending_.size() >= kMostCalls)
      return Unexpected(Error(Reason::kTooManyRequests, "too many calls to other servers are under way"));
    pending_.emplace(++last_, std::move(pending));
    return last_;
  }

  void Remove(std::uint64_t id) {
    MutexLock lock(mu_);
    pending_.erase(id);
  }

  void Stop() {
    std::map<std::uint64_t, std::shared_ptr<Pending>> all;
    {
      MutexLock lock(mu_);
      stopped_ = true;
      all.swap(pending_);
    }
    for (const auto& [id, pending] : all) pending->Finish(Unexpected(Stopped()));
  }

 private:
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::uint64_t last_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_ FLYBALL_GUARDED_BY(mu_);
};

namespace {

// Collects a response up to its limit.
template <typename Pending>
class BoundedSink final : public net::ResponseSink {
 public:
  BoundedSink(std::shared_ptr<Pending> pending, std::size_t max_bytes)
      : pending_(std::move(pending)), max_bytes_(max_bytes) {}

  void OnHead(int status, const net::Headers& headers) override {
    response_.status = status;
    response_.headers = headers;
  }
  void OnData(std::string_view data) override {
    if (too_large_) return;
    too_large_ = response_.body.size() + data.size() > max_bytes_;
    if (!too_large_) response_.body += data;
    if (too_large_)
      pending_->Finish(Unexpected(
          Error(Reason::kUnknown, "the response is larger than " + std::to_string(max_bytes_) + " bytes")));
  }
  void OnEnd() override { pending_->Finish(std::move(response_)); }
  void OnError(const Error& error) override { pending_->Finish(Unexpected(error)); }

 private:
  const std::shared_ptr<Pending> pending_;
  const std::size_t max_bytes_;
  net::Response response_;
  bool too_large_ = false;
};

}  // namespace

RemoteCalls::RemoteCalls() : calls_(std::make_shared<Calls>()) {}

RemoteCalls::~RemoteCalls() {
  Stop();
}

void RemoteCalls::Stop() {
  calls_->Stop();
}

Task<Result<net::Response>> RemoteCalls::Run(Begin begin, Duration limit, Result<net::Response> late,
                                             Executor& resume) const {
  const auto calls = calls_;
  std::uint64_t id = 0;
  TimerId timer = kNoTimer;
  auto start = [&](Pending::Done done) {
    auto pending = std::make_shared<Pending>(std::move(done));
    const auto added = calls->Add(pending);
    if (!added) return pending->Finish(Unexpected(added.error()));
    id = *added;
    timer = resume.PostAfter(limit, [pending, late] { pending->Finish(late); });
    begin(pending);
  };
  auto ended = Callback<Result<net::Response>>(resume, std::move(start));
  auto outcome = co_await ended;
  if (id != 0) calls->Remove(id);
  if (timer != kNoTimer) resume.Cancel(timer);
  co_return outcome;
}

Task<Result<net::Response>> RemoteCalls::Fetch(std::shared_ptr<net::Transport> transport,
                                               net::Request request, RemoteLimits limits, Executor& resume) {
  Begin begin = [&](const std::shared_ptr<Pending>& pending) {
    pending->SetCall(transport->Start(
        std::move(request), std::make_shared<BoundedSink<Pending>>(pending, limits.max_response_bytes)));
  };
  auto run =
      Run(std::move(begin), limits.timeout, Unexpected(Error(Reason::kTimeout, "no answer in time")), resume);
  co_return co_await std::move(run);
}

Task<Status> RemoteCalls::Wait(Duration delay, Executor& resume) {
  auto run = Run([](const std::shared_ptr<Pending>&) {}, delay, net::Response{}, resume);
  const auto outcome = co_await std::move(run);
  if (!outcome) co_return Unexpected(outcome.error());
  co_return Status();
}

}  // namespace flyball::server
