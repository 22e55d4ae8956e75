#include "watchers.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "base/run/mutex.h"
#include "base/run/thread.h"

namespace flyball::bench {
namespace {

constexpr int kDatedShare = 8;  // one watcher in so many looks at how old its events are
constexpr std::size_t kDigits = 19;

Duration SteadyNow() {
  return RealClock().Steady().time_since_epoch();
}

}  // namespace

std::string SentAtNow() {
  char text[32];
  std::snprintf(text, sizeof text, "%019lld", static_cast<long long>(SteadyNow().count()));
  return text;
}

class WatchSinkStream final : public net::ResponseSink {
 public:
  WatchSinkStream(std::atomic<long>& begun, std::atomic<long>& received, bool dated)
      : begun_(begun), received_(received), dated_(dated) {}

  void OnHead(int, const net::Headers&) override { begun_.fetch_add(1); }
  void OnData(std::string_view data) override {
    const auto lines = std::count(data.begin(), data.end(), '\n');
    if (dated_) Date(data);
    received_.fetch_add(lines, std::memory_order_release);
  }
  void OnEnd() override { Die("it ended"); }
  void OnError(const Error& error) override {
    if (!error.Is(Reason::kCancelled)) Die(error.ToString());
  }

  std::vector<Duration> TakeAges() {
    MutexLock lock(mu_);
    return std::exchange(ages_, {});
  }

 private:
  // Without it the measurement would wait for ever.
  [[noreturn]] static void Die(const std::string& why) {
    std::fprintf(stderr, "server_bench: a watch broke: %s\n", why.c_str());
    std::_Exit(1);
  }

  void Date(std::string_view data) {
    const Duration now = SteadyNow();
    MutexLock lock(mu_);
    line_ += data;
    std::size_t at = 0;
    for (std::size_t end; (end = line_.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto mark = line_.find(kSentAt, at);
      if (mark >= end) continue;
      long long sent = 0;
      const char* digits = line_.data() + mark + kSentAt.size();
      std::from_chars(digits, digits + kDigits, sent);
      ages_.push_back(now - Duration(sent));
    }
    line_.erase(0, at);
  }

  std::atomic<long>&begun_, &received_;
  const bool dated_;
  Mutex mu_;
  std::string line_ FLYBALL_GUARDED_BY(mu_);
  std::vector<Duration> ages_ FLYBALL_GUARDED_BY(mu_);
};

Watchers::Watchers(net::Transport& transport, const std::string& target, int count) {
  for (int i = 0; i < count; ++i) {
    streams_.push_back(std::make_shared<WatchSinkStream>(begun_, received_, i % kDatedShare == 0));
    calls_.push_back(transport.Start({.target = target}, streams_.back()));
  }
  while (begun_ < count) SleepFor(std::chrono::milliseconds(1));
}

Watchers::~Watchers() {
  for (const auto& call : calls_) call->Cancel();
}

void Watchers::AwaitEach(long events) const {
  const long all = events * static_cast<long>(streams_.size());
  while (received_.load(std::memory_order_acquire) < all) SleepFor(std::chrono::microseconds(100));
}

std::vector<Duration> Watchers::TakeAges() {
  std::vector<Duration> all;
  for (const auto& stream : streams_) {
    const auto ages = stream->TakeAges();
    all.insert(all.end(), ages.begin(), ages.end());
  }
  return all;
}

}  // namespace flyball::bench
