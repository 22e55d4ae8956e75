// StatusLine: what a cluster in the foreground is doing, in one line at the end of the terminal.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/observe/progress.h"
#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "informer/informer_factory.h"

namespace flyball::cli {

// Nodes and pods, counted as they change. Thread-safe.
class ClusterTally {
 public:
  void SeeNode(const std::string& name, bool ready);
  void ForgetNode(const std::string& name);
  // From one phase to another; empty: from or to nothing.
  void MovePod(const std::string& from, const std::string& to);
  // "2 of 3 nodes ready, 12 pods (10 Running, 2 Pending)".
  std::string Text() const;

 private:
  mutable Mutex mu_;
  std::map<std::string, bool> nodes_ FLYBALL_GUARDED_BY(mu_);  // ready
  std::map<std::string, int> phases_ FLYBALL_GUARDED_BY(mu_);
};

// While it lives the line stands below what is printed through it and what is logged. Does nothing where the
// output is no terminal. Thread-safe.
class StatusLine {
 public:
  explicit StatusLine(InformerFactory& informers);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void Print(const std::function<void()>& print) { ticker_.Print(print); }

 private:
  void Follow(InformerFactory& informers);

  const SteadyTime since_ = RealClock().Steady();
  const std::shared_ptr<ClusterTally> tally_ = std::make_shared<ClusterTally>();  // handlers have it too
  ProgressTicker ticker_;
};

}  // namespace flyball::cli
