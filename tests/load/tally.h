// Tally: what a load run did and what went wrong. Thread-safe.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/rest_client.h"

namespace flyball::load {

class Tally {
 public:
  // One answer. Errors of the 5xx kind and broken connections are problems; the 4xx are part of the mix.
  void Count(const std::string& what, const Result<RestResponse>& answer) {
    MutexLock lock(mu_);
    ++requests_[what];
    if (answer) return;
    ++refused_[answer.error().code()];
    const bool broken = answer.error().Is(Reason::kConnection) || answer.error().Is(Reason::kTimeout);
    if (answer.error().code() >= 500 || broken) AddLocked(what + ": " + answer.error().ToString());
  }
  void CountEvents(long n) {
    MutexLock lock(mu_);
    events_ += n;
  }
  void CountStream() {
    MutexLock lock(mu_);
    ++streams_;
  }
  void Problem(const std::string& text) {
    MutexLock lock(mu_);
    AddLocked(text);
  }

  bool clean() const {
    MutexLock lock(mu_);
    return problem_count_ == 0;
  }
  std::string Summary() const {
    MutexLock lock(mu_);
    long total = 0;
    std::string out;
    for (const auto& [what, n] : requests_) {
      total += n;
      out += "  " + what + " " + std::to_string(n) + "\n";
    }
    for (const auto& [code, n] : refused_)
      out += "  answered " + std::to_string(code) + ": " + std::to_string(n) + "\n";
    for (const auto& text : problems_) out += "PROBLEM " + text + "\n";
    return out + std::to_string(total) + " requests, " + std::to_string(streams_) + " watches, " +
           std::to_string(events_) + " events, " + std::to_string(problem_count_) + " problems";
  }

 private:
  static constexpr std::size_t kShownProblems = 20;

  void AddLocked(const std::string& text) FLYBALL_REQUIRES(mu_) {
    ++problem_count_;
    if (problems_.size() < kShownProblems) problems_.push_back(text);
  }

  mutable Mutex mu_;
  std::map<std::string, long> requests_ FLYBALL_GUARDED_BY(mu_);
  std::map<int, long> refused_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::string> problems_ FLYBALL_GUARDED_BY(mu_);
  long problem_count_ FLYBALL_GUARDED_BY(mu_) = 0;
  long events_ FLYBALL_GUARDED_BY(mu_) = 0;
  long streams_ FLYBALL_GUARDED_BY(mu_) = 0;
};

}  // namespace flyball::load
