// IoLoop: one thread that waits for sockets and runs the work of the connections pinned to it. It is also an
// Executor, so that a handler's coroutines resume on the thread of their connection.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/thread.h"

namespace boost::asio {
class io_context;
}

namespace flyball::net {

// Thread-safe, except the scratch buffers. Closures that throw are logged; the thread lives on.
// Owned by shared_ptr: streams keep their loop, so executor() stays valid; after Stop what is posted is
// dropped.
class IoLoop final : public Executor {
 public:
  explicit IoLoop(std::string name);
  ~IoLoop() override;  // stops

  void Post(Closure fn) override;
  TimerId PostAt(SteadyTime when, Closure fn) override;
  bool Cancel(TimerId id) override;
  const Clock& clock() const override { return RealClock(); }

  // Runs what is queued and what that queues in turn, within bounds (a connection that was closed lets go of
  // what it owns in a later round); ends the thread; drops timers. Idempotent. Not to be called on the loop's
  // own thread. Requires: every socket on it is closed, or owned by an operation that waits on it.
  void Stop();
  bool OnThisThread() const;
  boost::asio::io_context& context();

  // Buffers shared by every connection of the loop, so that an idle one holds none. Confined to the loop's
  // thread.
  struct Scratch {
    std::string input;   // of kInputBytes
    std::string output;  // plain text on its way out
    std::string cipher;  // the same, encrypted
  };
  static constexpr std::size_t kInputBytes = 64u << 10;
  Scratch& scratch() { return scratch_; }

 private:
  struct Reactor;
  using TimerKey = std::pair<SteadyTime, TimerId>;

  void Run();
  void EndAfter(int rounds);
  void RunPosted();
  void RunTimers();
  void ArmTimer() FLYBALL_EXCLUDES(mu_);

  std::unique_ptr<Reactor> reactor_;
  Scratch scratch_;
  Mutex mu_;
  std::vector<Closure> posted_ FLYBALL_GUARDED_BY(mu_);
  bool wake_pending_ FLYBALL_GUARDED_BY(mu_) = false;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<TimerKey, Closure> timers_ FLYBALL_GUARDED_BY(mu_);
  std::map<TimerId, SteadyTime> timer_times_ FLYBALL_GUARDED_BY(mu_);
  TimerId next_timer_ FLYBALL_GUARDED_BY(mu_) = 1;
  Thread thread_;
};

}  // namespace flyball::net
