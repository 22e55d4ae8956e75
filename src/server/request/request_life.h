// The life of a request: until it is answered, its time is up, or its client is gone (upstream: the request's
// context, WithRequestDeadline and WithTimeoutForNonLongRunningRequests).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "net/http/http.h"

namespace flyball::server {

// Whether a request is still worth working for, and who answers it: its handler, or its deadline.
// Thread-safe.
class RequestLife {
 public:
  RequestLife(std::shared_ptr<net::ResponseStream> stream, std::string audit_id)
      : stream_(std::move(stream)), audit_id_(std::move(audit_id)) {}

  // Timeout (504) once the deadline has passed or the client is gone: work that can still be left undone is.
  // Cheap; long loops ask now and then, writes ask before they commit.
  Status Check() const;
  // True for the first caller: that one answers.
  bool TakeAnswer() { return !answered_.exchange(true); }
  // The time is up: answers 504 unless the handler has answered, or is about to.
  void Expire();
  // Calls fn once when the time is up; at once if it is. For work that others do on the request's behalf.
  void OnExpire(Closure fn);

 private:
  void AnswerTimeout();

  const std::shared_ptr<net::ResponseStream> stream_;
  const std::string audit_id_;
  std::atomic<bool> answered_{false}, expired_{false};
  Mutex mu_;
  Closure on_expire_ FLYBALL_GUARDED_BY(mu_);
};

// Ends requests that take too long. One timer for all of them, set only while there are some. Thread-safe.
class RequestDeadlines : public std::enable_shared_from_this<RequestDeadlines> {
 public:
  static std::shared_ptr<RequestDeadlines> Make(Executor& executor, Duration limit);
  ~RequestDeadlines();

  // A request under way; it has until `limit`, or less if it asks for less. Ended by destroying it.
  class Running {
   public:
    Running(std::shared_ptr<RequestDeadlines> owner, SteadyTime deadline, std::uint64_t number,
            std::shared_ptr<RequestLife> life)
        : owner_(std::move(owner)), deadline_(deadline), number_(number), life_(std::move(life)) {}
    Running(Running&&) noexcept = default;
    Running& operator=(Running&&) = delete;
    ~Running();
    const std::shared_ptr<RequestLife>& life() const { return life_; }

   private:
    std::shared_ptr<RequestDeadlines> owner_;  // null once moved from
    SteadyTime deadline_;
    std::uint64_t number_;
    std::shared_ptr<RequestLife> life_;
  };
  // `asked`: the query's "timeout"; zero: none. What is longer than the limit is cut to it.
  Running Start(std::shared_ptr<RequestLife> life, Duration asked);

 private:
  RequestDeadlines(Executor& executor, Duration limit) : executor_(executor), limit_(limit) {}

  using Key = std::pair<SteadyTime, std::uint64_t>;
  void Forget(const Key& key);
  void ArmFor(SteadyTime when) FLYBALL_REQUIRES(mu_);
  void OnTimer();

  Executor& executor_;
  const Duration limit_;
  Mutex mu_;
  std::map<Key, std::shared_ptr<RequestLife>> running_ FLYBALL_GUARDED_BY(mu_);
  std::uint64_t next_number_ FLYBALL_GUARDED_BY(mu_) = 0;
  SteadyTime armed_for_ FLYBALL_GUARDED_BY(mu_) = SteadyTime::max();
  TimerId timer_ FLYBALL_GUARDED_BY(mu_) = kNoTimer;
};

}  // namespace flyball::server
