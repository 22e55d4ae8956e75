// The watch cache: every object of every resource in memory, in key order, with a ring of recent events, fed
// by one watch on the store. GET, LIST and WATCH are answered from it.
//
// Flow: store commit → WatchCache::OnEvents (the store's delivery thread: state and ring updated) → the
// commit is acknowledged → the dispatch strand hands the event to each subscriber that wants it → its
// connection sends it. Guarantees: when a commit has been acknowledged the cache has it (read your own
// writes). A subscriber sees every change after its start exactly once, in order. A slow subscriber is
// closed; no other waits for it. Assumptions: one process writes the store (or the engine's watch delivers
// before acknowledging, as Store demands). Caveats: the ring is bounded; a watch from before it gets Expired
// (410) and the client lists again.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "server/stored_object.h"
#include "store/store.h"

namespace flyball::server {

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };
std::string_view ChangeTypeName(ChangeType type);  // "ADDED"

// One change of one resource, shared by the ring and every subscriber.
class Change {
 public:
  Change(ObjectPtr now, ObjectPtr before, store::Revision at)
      : object(std::move(now)), previous(std::move(before)), revision(at) {}

  const ObjectPtr object;    // null: deleted
  const ObjectPtr previous;  // null: created
  const store::Revision revision;

  // `{"type":"ADDED","object":{...}}\n`, encoded once a type and then shared. A deletion carries the last
  // object with the deletion's version. Thread-safe.
  Bytes Encoded(ChangeType type) const;
  // Lets go of what Encoded keeps; it is made again if anybody still asks. Thread-safe.
  void ForgetEncoded() const;
  // The bytes that are in memory because of this change.
  std::size_t size() const { return (object ? object : previous)->bytes()->size(); }

 private:
  mutable Mutex mu_;
  mutable Bytes encoded_[3] FLYBALL_GUARDED_BY(mu_);
};
using ChangePtr = std::shared_ptr<const Change>;

// Which objects a list or watch is about. Empty strings and functions mean "all".
struct ObjectFilter {
  std::string namespace_name;
  std::string name;
  std::function<bool(const StoredObject&)> matches;

  bool Accepts(const StoredObject& object) const;
};

// A subscription's buffer, between the dispatch strand and the connection that sends. Thread-safe.
class Subscriber {
 public:
  struct Item {
    ChangePtr change;  // null: a bookmark
    ChangeType type = ChangeType::kAdded;
    store::Revision revision = 0;
  };
  // More than this many undelivered changes, or changes of so many bytes, close the subscription: the client
  // is too slow and must list again. What there was to catch up with at the start does not count.
  static constexpr std::size_t kMaxQueued = 10000;
  static constexpr std::size_t kMaxQueuedBytes = 64u << 20;

  explicit Subscriber(ObjectFilter filter) : filter_(std::move(filter)) {}

  // Takes everything queued. If there is nothing, `wake` is called once when there is (or when closed), on
  // any thread, and false is returned.
  bool Take(std::vector<Item>& out, Closure wake);
  bool closed() const;
  // Nothing more is queued; wakes the reader. Idempotent.
  void Close();

  // For the cache: queues what the filter lets through.
  void Offer(const ChangePtr& change);
  // The same for changes from before the subscription, which the ring bounds. Before it is shared.
  void CatchUp(const ChangePtr& change);
  void Bookmark(store::Revision revision);
  // Changes up to here were offered when it subscribed; the dispatch leaves them out. Set before it is
  // shared.
  void set_dispatched(store::Revision revision) { dispatched_ = revision; }
  store::Revision dispatched() const { return dispatched_; }

 private:
  std::optional<Item> Select(const ChangePtr& change) const;
  void Push(Item item);

  store::Revision dispatched_ = 0;

  const ObjectFilter filter_;
  mutable Mutex mu_;
  std::vector<Item> queue_ FLYBALL_GUARDED_BY(mu_);
  std::size_t catching_up_ FLYBALL_GUARDED_BY(mu_) = 0;   // of the queue: from before the subscription
  std::size_t queued_bytes_ FLYBALL_GUARDED_BY(mu_) = 0;  // of the queue without those
  Closure wake_ FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
};

struct ListSnapshot {
  std::vector<ObjectPtr> objects;  // in key order
  store::Revision revision = 0;    // everything up to here is in it
};

struct Subscription {
  std::shared_ptr<Subscriber> subscriber;
  std::vector<ObjectPtr> initial;  // what there was at the start, if it was asked for
  store::Revision revision = 0;    // of `initial`
};

// The objects of one resource. Thread-safe.
class ResourceCache : public std::enable_shared_from_this<ResourceCache> {
 public:
  // `published` is the revision that every cache has applied.
  ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind, Executor& executor,
                const std::atomic<store::Revision>& published);

  // "ns/name" for namespaced resources, "name" otherwise.
  ObjectPtr Get(std::string_view key) const;
  ListSnapshot List(const ObjectFilter& filter) const;
  std::size_t size() const;
  // The revision of the newest change: at and after it the current state is also the state at that revision.
  store::Revision last_change() const;

  // Changes with revision > `after` that pass the filter. Expired if they are no longer all known.
  Result<Subscription> SubscribeAfter(ObjectFilter filter, store::Revision after);
  // What there is now as `initial`, then every later change.
  Subscription SubscribeNow(ObjectFilter filter);
  void Unsubscribe(const std::shared_ptr<Subscriber>& subscriber);

  // Calls fn on the dispatch strand after each change (not for what is there at the call). For the server's
  // own needs: custom resource definitions, policy caches. The observer must outlive the cache.
  void Observe(std::function<void(const Change&)> fn);

  const std::string& prefix() const { return prefix_; }
  const api::KindInfo& kind() const { return *kind_; }

  // For WatchCache. Apply must be called in revision order.
  void Load(std::vector<ObjectPtr> objects, store::Revision revision);
  void Apply(const store::Event& event);
  void BookmarkAll();
  void CloseAll();

 private:
  // How many changes are kept for watches that start in the past: so many, or so many bytes of them, but a
  // few of any size.
  static constexpr std::size_t kRingSize = 16384;
  static constexpr std::size_t kRingBytes = 32u << 20;
  static constexpr std::size_t kRingAlways = 64;
  // The newest of them keep their encoded form: watchers that lag a little still share it.
  static constexpr std::size_t kEncodedKept = 256;

  ListSnapshot Snapshot(const ObjectFilter& filter) const FLYBALL_REQUIRES(mu_);
  void Remember(const ChangePtr& change) FLYBALL_REQUIRES(mu_);
  void Dispatch();
  void DispatchBookmarks();

  const std::string prefix_;
  const std::shared_ptr<const api::KindInfo> kind_;
  std::shared_ptr<Strand> strand_;
  // The newest revision every cache has applied; bookmarks and list versions come from it.
  const std::atomic<store::Revision>& published_;

  mutable Mutex mu_;
  std::map<std::string, ObjectPtr, std::less<>> objects_ FLYBALL_GUARDED_BY(mu_);
  std::deque<ChangePtr> ring_ FLYBALL_GUARDED_BY(mu_);
  std::size_t ring_bytes_ FLYBALL_GUARDED_BY(mu_) = 0;
  store::Revision ring_start_ FLYBALL_GUARDED_BY(mu_) = 0;  // changes after this one are all in the ring
  store::Revision last_change_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::vector<ChangePtr> undispatched_ FLYBALL_GUARDED_BY(mu_);
  bool dispatch_scheduled_ FLYBALL_GUARDED_BY(mu_) = false;
  std::vector<std::shared_ptr<Subscriber>> subscribers_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::function<void(const Change&)>> observers_ FLYBALL_GUARDED_BY(mu_);
};

// All resources. Thread-safe.
class WatchCache final : public store::WatchSink {
 public:
  WatchCache(store::Store& store, Executor& executor);
  ~WatchCache() override;

  // Makes (and loads) the cache of a resource, or returns the one there is. `prefix` ends with '/'.
  Result<std::shared_ptr<ResourceCache>> AddResource(const std::string& prefix,
                                                     std::shared_ptr<const api::KindInfo> kind);
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
  std::shared_ptr<ResourceCache> Find(std::string_view key) const FLYBALL_REQUIRES(mu_);

  store::Store& store_;
  Executor& executor_;
  std::atomic<store::Revision> revision_{0};
  mutable Mutex mu_;
  std::map<std::string, std::shared_ptr<ResourceCache>, std::less<>> caches_ FLYBALL_GUARDED_BY(mu_);
  std::unique_ptr<store::Watch> watch_;
};

}  // namespace flyball::server
