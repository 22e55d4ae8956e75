// EtcdFreshness: brings the watches up to what etcd has, for all who ask for that at about the same time.
//
// Flow: CatchUp -> gather -> question (a linearizable read of nothing) -> answer (etcd's newest revision) ->
// the watches get there -> everybody is told who had asked before the question was sent. Guarantee: nobody is
// told by an answer to a question that was sent before the call. One question is under way at a time: those
// who come meanwhile are in the next. A question costs etcd more than several reads cost us. So where many
// read at a time, the next question waits for all of them, but no longer than the last one took.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "store/etcd/etcd_client.h"
#include "store/etcd/etcd_watches.h"
#include "store/store.h"

namespace flyball::store::etcd {

// Thread-safe. Close it before the executor goes.
class EtcdFreshness : public std::enable_shared_from_this<EtcdFreshness> {
 public:
  using Done = UniqueFunction<void(Status)>;
  // `key`: any, as etcd has it. `saw` is told every revision that is heard of.
  EtcdFreshness(std::shared_ptr<EtcdClient> client, std::shared_ptr<EtcdWatches> watches, Executor& executor,
                std::string key, std::function<void(Revision)> saw);

  // Calls done once every live watch has seen all that was committed before this call. ServerTimeout if etcd
  // does not answer, or its watch does not.
  void CatchUp(Done done);
  // Nobody is waited for any more.
  void Close();

 private:
  enum class State : std::uint8_t { kIdle, kGathering, kAsking };
  using Callers = std::vector<Done>;

  void OnGathered();
  void Ask();
  void OnAnswer(Result<std::string> answer, const std::shared_ptr<Callers>& callers);
  void OnCaughtUp(const Status& status, Callers callers);
  // After a question that so many shared, before they are told. True: the next is to be sent now.
  bool NextIsDue(std::size_t shared_by);

  const std::shared_ptr<EtcdClient> client_;
  const std::shared_ptr<EtcdWatches> watches_;
  Executor& executor_;
  const std::string question_;  // encoded
  const std::function<void(Revision)> saw_;

  Mutex mu_;
  State state_ FLYBALL_GUARDED_BY(mu_) = State::kIdle;
  Callers next_ FLYBALL_GUARDED_BY(mu_);
  std::size_t expected_ FLYBALL_GUARDED_BY(mu_) = 1;  // while gathering
  SteadyTime asked_at_ FLYBALL_GUARDED_BY(mu_){};
  SteadyTime gather_until_ FLYBALL_GUARDED_BY(mu_){};
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  Alarm gathered_;
};

}  // namespace flyball::store::etcd
