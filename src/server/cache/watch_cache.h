// The watch cache: every object of every resource in memory, in key order, with a ring of recent events, fed
// by one watch on the store (on each part of it). GET, LIST and WATCH are answered from it.
//
// Flow: store commit → StoreFeed::OnEvents (the store's delivery thread: state and ring updated) → the
// commit is acknowledged → the dispatch strand hands the event to each subscriber that wants it → its
// connection sends it. Guarantees: when a commit has been acknowledged the cache has it (read your own
// writes). A subscriber sees every change after its start exactly once, in order. A slow subscriber is
// closed; no other waits for it. Assumptions: one process writes the store (or the engine's watch delivers
// before acknowledging, as Store demands). Caveats: the ring is bounded, by size and by age; a watch from
// before it gets Expired (410) and the client lists again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "server/cache/resource_cache.h"
#include "server/cache/store_feed.h"
#include "store/store.h"

namespace flyball::server {

// All resources. Thread-safe.
class WatchCache final {
 public:
  WatchCache(store::Store& store, Executor& executor) : store_(store), executor_(executor) {}

  // As StoreFeed.
  Result<std::shared_ptr<ResourceCache>> AddResource(const std::string& prefix,
                                                     std::shared_ptr<const api::KindInfo> kind,
                                                     StoredObject::ReadForm form = {});
  void RemoveResource(const std::string& prefix);

  // Ends every subscription; the server is stopping.
  void CloseAll();
  // A bookmark to every subscriber. The server calls it about once a minute.
  void BookmarkAll();

 private:
  // Of the part of the store that has the prefix; begun when its first resource comes.
  StoreFeed& FeedOf(const std::string& prefix);
  std::vector<std::shared_ptr<ResourceCache>> All() const;

  store::Store& store_;
  Executor& executor_;
  mutable Mutex mu_;
  std::map<const store::Store*, std::unique_ptr<StoreFeed>> feeds_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
