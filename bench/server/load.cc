#include "load.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>

#include "base/run/mutex.h"
#include "base/run/notification.h"

namespace flyball::bench {
namespace {

class OneAnswer final : public net::ResponseSink {
 public:
  explicit OneAnswer(bool keep_body) : keep_body_(keep_body) {}
  void OnHead(int status, const net::Headers&) override { answered_.status = status; }
  void OnData(std::string_view data) override {
    answered_.bytes += data.size();
    if (keep_body_) answered_.text += data;
  }
  void OnEnd() override { Finish(); }
  void OnError(const Error& error) override {
    answered_.status = 0;
    answered_.text = error.ToString();
    Finish();
  }
  Answered Wait() { return done_.Wait(); }

 private:
  void Finish() {
    answered_.took = RealClock().Steady() - start_;
    done_.Set(std::move(answered_));
  }

  const bool keep_body_;
  const SteadyTime start_ = RealClock().Steady();
  Answered answered_;
  Notification<Answered> done_;
};

// What the clients of one load share.
struct Load {
  net::Transport& transport;
  const long total;
  const std::function<net::Request(long)>& make;
  std::atomic<long> next{0};
  std::atomic<long> failed{0};
  std::atomic<int> running{0};
  Notification<bool> done{};
  Mutex mu{};
  std::vector<Duration> latencies{};
};

class LoadClient final : public net::ResponseSink, public std::enable_shared_from_this<LoadClient> {
 public:
  explicit LoadClient(Load& load) : load_(load) {}

  void Next() {
    const long i = load_.next.fetch_add(1);
    if (i >= load_.total) return Finish();
    auto request = load_.make(i);
    start_ = RealClock().Steady();
    load_.transport.Start(std::move(request), shared_from_this());
  }

  void OnHead(int status, const net::Headers&) override { ok_ = status >= 200 && status < 300; }
  void OnData(std::string_view data) override {
    if (!ok_) failure_ = data;
  }
  void OnEnd() override {
    latencies_.push_back(RealClock().Steady() - start_);
    if (!ok_) Fail(failure_);
    Next();
  }
  void OnError(const Error& error) override {
    Fail(error.ToString());
    Next();
  }

 private:
  void Fail(const std::string& why) {
    if (load_.failed.fetch_add(1) == 0) std::fprintf(stderr, "a request failed: %s\n", why.c_str());
  }
  void Finish() {
    {
      MutexLock lock(load_.mu);
      load_.latencies.insert(load_.latencies.end(), latencies_.begin(), latencies_.end());
    }
    if (load_.running.fetch_sub(1) == 1) load_.done.Set(true);
  }

  Load& load_;
  SteadyTime start_{};
  bool ok_ = false;
  std::string failure_;
  std::vector<Duration> latencies_;
};

}  // namespace

double Milliseconds(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

double QuantileMs(std::vector<Duration>& values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return Milliseconds(values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))]);
}

double LoadResult::QuantileMs(double q) const {
  if (latencies.empty()) return 0;
  return Milliseconds(latencies[static_cast<std::size_t>(q * static_cast<double>(latencies.size() - 1))]);
}

Answered Ask(net::Transport& transport, net::Request request, bool keep_body) {
  auto sink = std::make_shared<OneAnswer>(keep_body);
  transport.Start(std::move(request), sink);
  return sink->Wait();
}

LoadResult RunLoad(net::Transport& transport, int clients, long total,
                   const std::function<net::Request(long)>& make) {
  Load load{transport, total, make};
  load.running = clients;
  const SteadyTime start = RealClock().Steady();
  for (int i = 0; i < clients; ++i) std::make_shared<LoadClient>(load)->Next();
  load.done.Wait();
  LoadResult result{total, load.failed, Milliseconds(RealClock().Steady() - start) / 1e3};
  MutexLock lock(load.mu);
  result.latencies = std::move(load.latencies);
  std::sort(result.latencies.begin(), result.latencies.end());
  return result;
}

}  // namespace flyball::bench
