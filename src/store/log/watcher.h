// Watcher: a sink that is called one at a time and can be ended from anywhere: what every engine's watches
// share.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "store/store.h"

namespace flyball::store {

// Thread-safe: End and ended. Call and `delivered`: confined to the thread whose turn it is to deliver.
class Watcher {
 public:
  Watcher(std::string watched, Revision after, WatchSink* sink)
      : prefix(std::move(watched)), delivered(after), sink_(sink) {}

  // Calls fn(sink) unless the watch has ended.
  template <typename Fn>
  void Call(Fn&& fn) {
    State idle = State::kIdle;
    if (!state_.compare_exchange_strong(idle, State::kInCall)) return;
    caller_.store(std::this_thread::get_id());
    fn(*sink_);
    State in_call = State::kInCall;
    state_.compare_exchange_strong(in_call, State::kIdle);  // fails if the sink ended its own watch
    state_.notify_all();
  }

  // After it no call begins. Waits for one that is running, unless it is the caller's own.
  void End() {
    for (;;) {
      State state = State::kIdle;
      if (state_.compare_exchange_strong(state, State::kEnded) || state == State::kEnded) return;
      if (caller_.load() == std::this_thread::get_id()) {
        state_.store(State::kEnded);
        return;
      }
      state_.wait(State::kInCall);
    }
  }

  bool ended() const { return state_.load() == State::kEnded; }

  const std::string prefix;
  Revision delivered;  // up to and including this revision

 private:
  enum class State : int { kIdle, kInCall, kEnded };

  std::atomic<State> state_{State::kIdle};
  std::atomic<std::thread::id> caller_{};
  WatchSink* const sink_;
};

// The Watch of a watcher.
class WatchHandle final : public Watch {
 public:
  explicit WatchHandle(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  ~WatchHandle() override { watcher_->End(); }

 private:
  std::shared_ptr<Watcher> watcher_;
};

}  // namespace flyball::store
