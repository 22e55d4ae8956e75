// The objects of one resource in memory, in key order, with a ring of recent changes: what GET, LIST and
// WATCH are answered from (watch_cache.h).
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "server/cache/object_table.h"
#include "server/cache/subscriber.h"
#include "store/store.h"

namespace flyball::server {

// Which part of a list is wanted.
struct ListPage {
  std::string start{};           // the first key, "ns/name" or "name"; empty: from the beginning
  std::size_t limit = 0;         // 0: all
  store::Revision revision = 0;  // 0: now
  // Asked now and then while objects are looked at: an error ends the list. Null: nobody is asked.
  std::function<Status()> go_on{};
};

struct ListSnapshot {
  std::vector<ObjectPtr> objects{};  // in key order
  store::Revision revision = 0;      // the state is of this revision
  bool more = false;                 // the limit has cut it
  std::size_t remaining = 0;         // how many follow; known only if the filter is not selective
};

class ResourceCache;

// A watch on a cache, until it is destroyed: then the cache forgets the subscriber. Movable.
struct Subscription {
  explicit Subscription(SubscriberPtr own) : subscriber(std::move(own)) {}
  Subscription(Subscription&&) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription() { End(); }

  SubscriberPtr subscriber;
  std::vector<ObjectPtr> initial;        // what there was at the start, if it was asked for
  store::Revision revision = 0;          // of `initial`
  std::shared_ptr<ResourceCache> cache;  // null until the cache knows the subscriber

 private:
  void End() noexcept;
};

// An object whose commit is about to begin. Until this is destroyed the cache takes it as it is when its
// event comes, instead of reading the bytes again. Movable.
class Expectation {
 public:
  Expectation(std::shared_ptr<ResourceCache> cache, Bytes bytes)
      : cache_(std::move(cache)), bytes_(std::move(bytes)) {}
  Expectation(Expectation&&) noexcept = default;
  Expectation& operator=(Expectation&&) = delete;
  ~Expectation();

 private:
  std::shared_ptr<ResourceCache> cache_;  // null once moved from
  Bytes bytes_;                           // kept, so that nothing else gets their address meanwhile
};

// The objects of one resource. Thread-safe.
class ResourceCache : public std::enable_shared_from_this<ResourceCache> {
 public:
  // `published` is the revision up to which the cache's store has fed all its caches.
  ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind, Executor& executor,
                const std::atomic<store::Revision>& published, StoredObject::ReadForm form = {});

  // The object of these stored bytes, as this cache would hold it.
  Result<ObjectPtr> Build(Bytes bytes, store::Revision revision) const;

  // An error as long as the objects cannot be read from the store (the plugin that has the key to them does
  // not answer): what the cache holds is then nothing, or old.
  Status readable() const;

  // "ns/name" for namespaced resources, "name" otherwise.
  ObjectPtr Get(std::string_view key) const;
  // As it is now.
  ListSnapshot List(const ObjectFilter& filter) const;
  // A page, also of the past as far as the ring goes back; Expired for earlier revisions, or what the page's
  // go_on says.
  Result<ListSnapshot> List(const ObjectFilter& filter, const ListPage& page) const;
  std::size_t size() const;
  struct Stats {
    std::size_t objects = 0;
    std::size_t bytes = 0;  // of them all
  };
  Stats stats() const;
  // This cache has everything up to this revision of its store.
  store::Revision revision() const { return published_.load(std::memory_order_acquire); }
  // The revision of the newest change: at and after it the current state is also the state at that revision.
  store::Revision last_change() const;

  // To be held while the commit is under way. The object has no revision yet; the cache sets it.
  [[nodiscard]] Expectation Expect(std::shared_ptr<StoredObject> object);

  // Changes with revision > `after` that pass the filter. Expired if they are no longer all known.
  Result<Subscription> SubscribeAfter(ObjectFilter filter, store::Revision after);
  // What there is now as `initial`, then every later change.
  Subscription SubscribeNow(ObjectFilter filter);

  // Calls fn on the dispatch strand after each change (not for what is there at the call). For the server's
  // own needs: custom resource definitions, policy caches. The observer must outlive the cache.
  void Observe(std::function<void(const Change&)> fn);

  const std::string& prefix() const { return prefix_; }
  const api::KindInfo& kind() const { return *kind_; }

  // For StoreFeed. Apply must be called in revision order.
  void Load(std::vector<ObjectPtr> objects, store::Revision revision);
  bool is_loaded() const;
  // Held by whoever reads all objects into it.
  Mutex& filling() { return filling_; }
  void SetReadable(Status readable);
  void Apply(const store::Event& event);
  // Makes the cache what the store has, by the changes that lead there, in their order: for one that has
  // missed events. `items` is all there is at `revision`.
  void Reconcile(std::vector<store::KeyValue> items, store::Revision revision);
  void BookmarkAll();
  void CloseAll();

 private:
  friend struct Subscription;
  friend class Expectation;
  void Unsubscribe(const SubscriberPtr& subscriber);
  void StopExpecting(const std::string* bytes);
  // Null if there is none with these bytes.
  std::shared_ptr<StoredObject> TakeExpected(const std::string* bytes);

  // How many changes are kept for watches and lists that start in the past: so many, or so many bytes of
  // them, but a few of any size.
  static constexpr std::size_t kRingSize = 16384;
  static constexpr std::size_t kRingBytes = 32u << 20;
  static constexpr std::size_t kRingAlways = 64;
  // The newest of them keep their encoded form: watchers that lag a little still share it.
  static constexpr std::size_t kEncodedKept = 256;
  // Older changes are let go of, as the store does with its history (upstream: etcd's compaction interval).
  static constexpr Duration kRingAge = std::chrono::minutes(5);

  // What the objects that changed after a revision were at it, by key; null: absent.
  using PastObjects = std::map<std::string, ObjectPtr, std::less<>>;
  Result<PastObjects> ChangedSince(store::Revision revision) const FLYBALL_REQUIRES(mu_);
  Result<std::shared_ptr<const StoredObject>> ObjectOf(const store::Event& event);
  void Remember(const ChangePtr& change) FLYBALL_REQUIRES(mu_);
  void ForgetOldest() FLYBALL_REQUIRES(mu_);
  // Lets go of changes that are older than kRingAge. Returns their bytes.
  std::size_t ForgetOld(SteadyTime now) FLYBALL_REQUIRES(mu_);
  void Dispatch();
  void DispatchBookmarks();

  const std::string prefix_;
  const std::shared_ptr<const api::KindInfo> kind_;
  const StoredObject::ReadForm form_;
  const bool packs_;  // its objects
  Executor& executor_;
  std::shared_ptr<Strand> strand_;
  // The newest revision every cache of the store has applied; bookmarks and list versions come from it.
  const std::atomic<store::Revision>& published_;

  Mutex filling_;
  mutable Mutex mu_;
  mutable ObjectTable objects_ FLYBALL_GUARDED_BY(mu_);  // mutable: reading may make an index
  std::size_t bytes_ FLYBALL_GUARDED_BY(mu_) = 0;        // of them
  Status readable_ FLYBALL_GUARDED_BY(mu_);
  bool is_loaded_ FLYBALL_GUARDED_BY(mu_) = false;
  std::deque<ChangePtr> ring_ FLYBALL_GUARDED_BY(mu_);
  std::size_t ring_bytes_ FLYBALL_GUARDED_BY(mu_) = 0;
  // What the newest change was at some moments of the last minutes, oldest first.
  std::deque<std::pair<SteadyTime, store::Revision>> ages_ FLYBALL_GUARDED_BY(mu_);
  store::Revision ring_start_ FLYBALL_GUARDED_BY(mu_) = 0;  // changes after this one are all in the ring
  store::Revision last_change_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::vector<ChangePtr> undispatched_ FLYBALL_GUARDED_BY(mu_);
  bool dispatch_scheduled_ FLYBALL_GUARDED_BY(mu_) = false;
  SubscriberIndex subscribers_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::function<void(const Change&)>> observers_ FLYBALL_GUARDED_BY(mu_);

  Mutex expected_mu_;
  // By their bytes, which the store hands on as they are.
  std::unordered_map<const std::string*, std::shared_ptr<StoredObject>> expected_
      FLYBALL_GUARDED_BY(expected_mu_);
};

}  // namespace flyball::server
