// StoreFeed: the caches of the resources that one store has, fed by one watch on it.
//
// Flow: store -> OnEvents, on its delivery thread -> the cache of the key's resource. A resource that is
// still being loaded collects its changes meanwhile. If the watch ends (its history was compacted away under
// it), another begins, and every cache gets the difference.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "server/cache/resource_cache.h"
#include "store/store.h"

namespace flyball::server {

// Thread-safe.
class StoreFeed final : public store::WatchSink {
 public:
  StoreFeed(store::Store& store, Executor& executor);
  ~StoreFeed() override;

  // Makes (and loads) the cache of a resource, or returns the one there is. `prefix` ends with '/'. Commits
  // go on while it loads. A cache whose objects cannot be read for now says so (readable()).
  Result<std::shared_ptr<ResourceCache>> AddResource(const std::string& prefix,
                                                     std::shared_ptr<const api::KindInfo> kind,
                                                     StoredObject::ReadForm form = {});
  void RemoveResource(const std::string& prefix);

  std::vector<std::shared_ptr<ResourceCache>> All() const;

  void OnEvents(const std::vector<store::Event>& events) override;
  void OnProgress(store::Revision revision) override;
  void OnError(const Error& error) override;

 private:
  struct Slot {
    // Loading: collecting the changes that happen meanwhile. Unreadable: to be loaded anew, changes are
    // dropped.
    enum class State : std::uint8_t { kLoading, kLive, kUnreadable };
    std::shared_ptr<ResourceCache> cache;
    State state = State::kLoading;
    std::vector<store::Event> missed{};
  };
  Slot* Find(std::string_view key) FLYBALL_REQUIRES(mu_);
  // The watch on the store has ended: begins another, and brings every cache to where that begins.
  void Resume();
  // Makes the cache of a loading slot what the store has. An error that may go by itself (ServiceUnavailable)
  // is kept in the cache, and it is tried again.
  Status Fill(const std::shared_ptr<ResourceCache>& cache);
  bool IsLoading(const ResourceCache& cache) const;
  // Up to which revision.
  Result<store::Revision> ReadObjects(ResourceCache& cache);
  // What was unreadable.
  void Reload();

  store::Store& store_;
  Executor& executor_;
  std::atomic<store::Revision> revision_{0};  // every cache holds everything up to it
  mutable Mutex mu_;
  CondVar loaded_;
  std::map<std::string, Slot, std::less<>> slots_ FLYBALL_GUARDED_BY(mu_);
  std::unique_ptr<store::Watch> watch_;
  Alarm resume_, reload_;
};

}  // namespace flyball::server
