// Many watches of one client, and when each event reached them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "net/http/http.h"

namespace flyball::bench {

// The time of the write is part of the object, so that a watcher can tell how old an event is: the value of
// this member, in nanoseconds of the steady clock, 19 digits.
inline constexpr std::string_view kSentAt = "\"sentAt\":\"";
std::string SentAtNow();

class WatchSinkStream;

// Thread-safe.
class Watchers {
 public:
  // Opens `count` watches of `target` and waits until all have begun.
  Watchers(net::Transport& transport, const std::string& target, int count);
  ~Watchers();

  // Blocks until every watcher has had this many events in all.
  void AwaitEach(long events) const;
  long received() const { return received_.load(std::memory_order_relaxed); }
  // Ages of the events at some of the watchers (one in eight), from the write's request to the arrival.
  std::vector<Duration> TakeAges();

 private:
  std::atomic<long> begun_{0};
  std::atomic<long> received_{0};
  std::vector<std::shared_ptr<WatchSinkStream>> streams_;
  std::vector<std::shared_ptr<net::Call>> calls_;
};

}  // namespace flyball::bench
