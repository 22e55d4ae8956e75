// EtcdWatches: the watches of a store, all on one gRPC stream.
//
// Flow: Add -> create request -> created -> events and progress -> the sinks. States of a watch: catching up
// (it began in the past), live. When the stream breaks, all watches are made again on the next endpoint, each
// from where it was: no event is missed or repeated. Guarantees: sinks are called one at a time, in revision
// order. Assumptions: etcd's answer to a progress request means what it says (kOldest* in etcd_store.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/alarm.h"
#include "base/run/mutex.h"
#include "store/etcd/etcd_client.h"
#include "store/etcd/etcd_messages.h"
#include "store/log/watcher.h"

namespace flyball::store::etcd {

// Thread-safe. Close it before the executor goes.
class EtcdWatches : public std::enable_shared_from_this<EtcdWatches> {
 public:
  // Turns an event from etcd's form into the store's. Called before each delivery.
  using Adopt = std::function<void(Event&)>;
  EtcdWatches(std::shared_ptr<EtcdClient> client, Executor& executor, Adopt adopt);

  // `prefix` as etcd has it. `live`: `after` is no older than all that is known to be committed.
  std::unique_ptr<Watch> Add(std::string prefix, Revision after, bool live, WatchSink* sink);

  using Done = UniqueFunction<void(Status)>;
  // Calls done once every live watch on one of the keys, as etcd has them, has had the change of `revision`,
  // which is a change of all these keys. ServerTimeout if that takes too long.
  void AwaitChange(const std::vector<std::string>& keys, Revision revision, Done done);
  // Calls done once every live watch has all changes up to `revision`. Asks etcd for progress if need be.
  void AwaitProgress(Revision revision, Done done);

  // Up to which revision every live watch has everything; nullopt if there is no watch.
  std::optional<Revision> Seen() const;
  void Close();

 private:
  struct Watching {
    std::int64_t id = 0;
    KeyRange range;
    Revision delivered = 0;
    Revision goal = 0;  // catching up to this revision; 0: live
    bool created = false;
    std::shared_ptr<Watcher> watcher;
  };
  using WatchingPtr = std::shared_ptr<Watching>;
  struct Waiting {
    std::vector<WatchingPtr> watches;
    bool wants_progress = false;
    SteadyTime since;
    Done done;
  };
  class StreamSink;
  class Handle;
  using Satisfied = std::vector<std::pair<Done, Status>>;

  void OnMessage(std::uint64_t generation, std::string_view bytes);
  void OnStreamEnd(std::uint64_t generation, const Status& status);
  void Deliver(const WatchingPtr& watching, std::vector<Event> events);
  void OnCreated(const WatchingPtr& watching, Revision revision);
  void OnCanceled(const WatchingPtr& watching, const WatchResponse& response);
  void OnProgress(std::int64_t id, Revision revision);
  WatchingPtr Find(std::int64_t id) const;
  void Remove(std::int64_t id);

  void Await(Revision revision, Waiting waiting);
  bool IsSatisfied(Revision revision, const Waiting& waiting) const FLYBALL_REQUIRES(mu_);
  void TakeSatisfied(Satisfied& out) FLYBALL_REQUIRES(mu_);
  void Settle();
  void Ring();
  void OpenStream() FLYBALL_REQUIRES(mu_);
  void DropStream() FLYBALL_REQUIRES(mu_);
  void Create(Watching& watching) FLYBALL_REQUIRES(mu_);
  void AskProgress() FLYBALL_REQUIRES(mu_);
  bool WantsProgress() const FLYBALL_REQUIRES(mu_);

  const std::shared_ptr<EtcdClient> client_;
  Executor& executor_;
  const Adopt adopt_;

  // Held through the sinks' calls on purpose: it is the order of deliveries.
  Mutex turn_;
  mutable Mutex mu_;
  std::map<std::int64_t, WatchingPtr> watchings_ FLYBALL_GUARDED_BY(mu_);
  std::multimap<Revision, Waiting> waiting_ FLYBALL_GUARDED_BY(mu_);
  std::int64_t next_id_ FLYBALL_GUARDED_BY(mu_) = 1;
  std::uint64_t generation_ FLYBALL_GUARDED_BY(mu_) = 0;  // of the stream
  std::unique_ptr<net::GrpcStream> stream_ FLYBALL_GUARDED_BY(mu_);
  std::size_t endpoint_ FLYBALL_GUARDED_BY(mu_) = 0;
  int failures_ FLYBALL_GUARDED_BY(mu_) = 0;  // of the stream in a row
  SteadyTime opened_at_ FLYBALL_GUARDED_BY(mu_){};
  SteadyTime reopen_at_ FLYBALL_GUARDED_BY(mu_){};
  SteadyTime progress_asked_ FLYBALL_GUARDED_BY(mu_){};
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
  Alarm alarm_;
};

}  // namespace flyball::store::etcd
