// The watch cache: every object of every resource in memory, in key order, with a ring of recent events, fed
// by one watch on the store. GET, LIST and WATCH are answered from it.
//
// Flow: store commit → WatchCache::OnEvents (the store's delivery thread: state and ring updated) → the
// commit is acknowledged → the dispatch strand hands the event to each subscriber that wants it → its
// connection sends it. Guarantees: when a commit has been acknowledged the cache has it (read your own
// writes). A subscriber sees every change after its start exactly once, in order. A slow subscriber is
// closed; no other waits for it. Assumptions: one process writes the store (or the engine's watch delivers
// before acknowledging, as Store demands). Caveats: the ring is bounded, by size and by age; a watch from
// before it gets Expired (410) and the client lists again.
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

#include "base/run/alarm.h"
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
  // `published` is the revision that every cache has applied.
  ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind, Executor& executor,
                const std::atomic<store::Revision>& published, StoredObject::ReadForm form = {});

  // The object of these stored bytes, as this cache would hold it.
  Result<ObjectPtr> Build(Bytes bytes, store::Revision revision) const;

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

  // For WatchCache. Apply must be called in revision order.
  void Load(std::vector<ObjectPtr> objects, store::Revision revision);
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
  // The newest revision every cache has applied; bookmarks and list versions come from it.
  const std::atomic<store::Revision>& published_;

  mutable Mutex mu_;
  mutable ObjectTable objects_ FLYBALL_GUARDED_BY(mu_);  // mutable: reading may make an index
  std::size_t bytes_ FLYBALL_GUARDED_BY(mu_) = 0;        // of them
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

// All resources. Thread-safe.
class WatchCache final : public store::WatchSink {
 public:
  WatchCache(store::Store& store, Executor& executor);
  ~WatchCache() override;

  // Makes (and loads) the cache of a resource, or returns the one there is. `prefix` ends with '/'. Commits
  // go on while it loads.
  Result<std::shared_ptr<ResourceCache>> AddResource(const std::string& prefix,
                                                     std::shared_ptr<const api::KindInfo> kind,
                                                     StoredObject::ReadForm form = {});
  void RemoveResource(const std::string& prefix);

  // Every cache holds everything up to this revision.
  store::Revision revision() const { return revision_.load(std::memory_order_acquire); }
  // Ends every subscription; the server is stopping.
  void CloseAll();
  // A bookmark to every subscriber. The server calls it about once a minute.
  void BookmarkAll();

  void OnEvents(const std::vector<store::Event>& events) override;
  void OnProgress(store::Revision revision) override;
  void OnError(const Error& error) override;

 private:
  // A resource: loaded, or still loading and collecting the changes that happen meanwhile.
  struct Slot {
    std::shared_ptr<ResourceCache> cache;
    bool loading = true;
    std::vector<store::Event> missed{};
  };
  Slot* Find(std::string_view key) FLYBALL_REQUIRES(mu_);
  std::vector<std::shared_ptr<ResourceCache>> All() const;
  // The watch on the store has ended: begins another, and brings every cache to where that begins.
  void Resume();
  Result<store::RangeResult> LoadObjects(ResourceCache& cache, std::vector<ObjectPtr>& objects);

  store::Store& store_;
  Executor& executor_;
  std::atomic<store::Revision> revision_{0};
  mutable Mutex mu_;
  CondVar loaded_;
  std::map<std::string, Slot, std::less<>> slots_ FLYBALL_GUARDED_BY(mu_);
  std::unique_ptr<store::Watch> watch_;
  Alarm resume_;
};

}  // namespace flyball::server
