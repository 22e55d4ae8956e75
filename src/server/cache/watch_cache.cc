#include "server/cache/watch_cache.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::server {

namespace {

std::string KeyOf(const StoredObject& object) {
  return object.namespace_name().empty() ? object.name() : object.namespace_name() + "/" + object.name();
}

Error TooOld(store::Revision wanted, store::Revision oldest) {
  return Error(Reason::kExpired,
               "too old resource version: " + std::to_string(wanted) + " (" + std::to_string(oldest) + ")");
}

// Collects a page: what the filter accepts, up to the limit.
class PageBuilder {
 public:
  PageBuilder(const ObjectFilter& filter, std::size_t limit) : filter_(filter), limit_(limit) {}

  // False: the page is full and the object is beyond it.
  bool Add(const ObjectPtr& object) {
    if (!filter_.Accepts(*object)) return true;
    if (limit_ > 0 && snapshot_.objects.size() == limit_) {
      snapshot_.more = true;
      ++snapshot_.remaining;
      return false;
    }
    snapshot_.objects.push_back(object);
    return true;
  }
  ListSnapshot& snapshot() { return snapshot_; }

 private:
  const ObjectFilter& filter_;
  const std::size_t limit_;
  ListSnapshot snapshot_;
};

}  // namespace

ResourceCache::ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind,
                             Executor& executor, const std::atomic<store::Revision>& published)
    : prefix_(std::move(prefix)),
      kind_(std::move(kind)),
      strand_(std::make_shared<Strand>(executor)),
      published_(published),
      objects_(kind_->namespaced) {}

ObjectPtr ResourceCache::Get(std::string_view key) const {
  MutexLock lock(mu_);
  return objects_.Find(key);
}

std::size_t ResourceCache::size() const {
  MutexLock lock(mu_);
  return objects_.size();
}

store::Revision ResourceCache::last_change() const {
  MutexLock lock(mu_);
  return last_change_;
}

ListSnapshot ResourceCache::List(const ObjectFilter& filter) const {
  return *List(filter, ListPage{});  // the present is never too old
}

Result<ListSnapshot> ResourceCache::List(const ObjectFilter& filter, const ListPage& page) const {
  ObjectTable::Candidates present;
  PastObjects past;
  store::Revision revision = 0;
  {
    MutexLock lock(mu_);
    revision = std::max(published_.load(std::memory_order_acquire), last_change_);
    if (page.revision > 0 && page.revision < last_change_) {
      FLYBALL_ASSIGN(past, ChangedSince(page.revision));
    }
    present = objects_.Select(filter, page.start, past.empty() ? page.limit : 0);
  }
  PageBuilder builder(filter, page.limit);
  auto& snapshot = builder.snapshot();
  snapshot.objects.reserve(filter.selective() || page.limit > 0 ? 0 : present.size());
  auto changed = past.lower_bound(page.start);
  const auto add_past = [&] {
    const ObjectPtr& object = (changed++)->second;
    return !object || builder.Add(object);
  };
  const bool counts = !filter.selective();
  present.ForEach([&](const ObjectPtr& object) {
    if (past.empty()) return builder.Add(object);
    const std::string key = KeyOf(*object);
    while (changed != past.end() && changed->first < key)
      if (!add_past() && !counts) return false;
    if (changed == past.end() || changed->first != key) return builder.Add(object) || counts;
    return add_past() || counts;
  });
  while (changed != past.end() && (add_past() || counts)) {
  }
  if (past.empty()) snapshot.remaining = present.remaining();
  snapshot.more |= snapshot.remaining > 0;
  snapshot.revision = page.revision > 0 ? page.revision : revision;
  return std::move(snapshot);
}

Result<ResourceCache::PastObjects> ResourceCache::ChangedSince(store::Revision revision) const {
  if (revision < ring_start_) return Unexpected(TooOld(revision, ring_start_ + 1));
  PastObjects past;
  // Backwards: what a key was before the oldest change after the revision counts.
  for (auto it = ring_.rbegin(); it != ring_.rend() && (*it)->revision > revision; ++it)
    past.insert_or_assign(KeyOf((*it)->any()), (*it)->previous);
  return past;
}

void ResourceCache::Expect(std::shared_ptr<StoredObject> object) {
  MutexLock lock(expected_mu_);
  expected_[object->bytes().get()] = std::move(object);
}

void ResourceCache::StopExpecting(const StoredObject& object) {
  MutexLock lock(expected_mu_);
  expected_.erase(object.bytes().get());
}

Result<Subscription> ResourceCache::SubscribeAfter(ObjectFilter filter, store::Revision after) {
  Subscription subscription{std::make_shared<Subscriber>(std::move(filter)), {}, after};
  MutexLock lock(mu_);
  if (after < ring_start_) return Unexpected(TooOld(after, ring_start_ + 1));
  // What is not dispatched yet is in the ring too: it is offered here, and the dispatch skips new subscribers
  // by version.
  const auto first = std::upper_bound(ring_.begin(), ring_.end(), after,
                                      [](store::Revision r, const ChangePtr& c) { return r < c->revision; });
  for (auto it = first; it != ring_.end(); ++it) subscription.subscriber->CatchUp(*it);
  subscription.subscriber->set_dispatched(std::max(last_change_, after));
  subscribers_.Add(subscription.subscriber);
  return subscription;
}

Subscription ResourceCache::SubscribeNow(ObjectFilter filter) {
  Subscription subscription{std::make_shared<Subscriber>(std::move(filter)), {}, 0};
  const auto& wanted = subscription.subscriber->filter();
  ObjectTable::Candidates present;
  {
    MutexLock lock(mu_);
    subscription.revision = std::max(published_.load(std::memory_order_acquire), last_change_);
    present = objects_.Select(wanted);
    subscription.subscriber->set_dispatched(last_change_);
    subscribers_.Add(subscription.subscriber);
  }
  present.ForEach([&](const ObjectPtr& object) {
    if (wanted.Accepts(*object)) subscription.initial.push_back(object);
  });
  return subscription;
}

void ResourceCache::Unsubscribe(const SubscriberPtr& subscriber) {
  MutexLock lock(mu_);
  subscribers_.Remove(subscriber);
}

void ResourceCache::Observe(std::function<void(const Change&)> fn) {
  MutexLock lock(mu_);
  observers_.push_back(std::move(fn));
}

void ResourceCache::Load(std::vector<ObjectPtr> objects, store::Revision revision) {
  MutexLock lock(mu_);
  for (auto& object : objects) objects_.Put(std::move(object));
  ring_start_ = last_change_ = revision;
}

Result<ObjectPtr> ResourceCache::ObjectOf(const store::Event& event) {
  {
    MutexLock lock(expected_mu_);
    if (const auto it = expected_.find(event.kv.value.get()); it != expected_.end()) {
      const auto object = std::move(it->second);
      expected_.erase(it);
      object->set_revision(event.kv.mod_revision);
      return ObjectPtr(object);
    }
  }
  return StoredObject::Build(event.kv.value, event.kv.mod_revision, *kind_);
}

void ResourceCache::Apply(const store::Event& event) {
  const std::string_view key = std::string_view(event.kv.key).substr(prefix_.size());
  ObjectPtr object;
  if (event.type == store::Event::Type::kPut) {
    auto built = ObjectOf(event);
    if (!built) {
      log::Error("object left out of the watch cache",
                 {{"key", std::string(event.kv.key)}, {"error", built.error().message()}});
      return;
    }
    object = std::move(*built);
  }
  MutexLock lock(mu_);
  if (event.kv.mod_revision <= ring_start_) return;  // was loaded
  ObjectPtr previous = object ? objects_.Put(object) : objects_.Erase(key);
  if (!object && !previous) return;
  const auto change =
      std::make_shared<const Change>(std::move(object), std::move(previous), event.kv.mod_revision);
  last_change_ = event.kv.mod_revision;
  Remember(change);
  undispatched_.push_back(change);
  if (std::exchange(dispatch_scheduled_, true)) return;
  strand_->Post([self = shared_from_this()] { self->Dispatch(); });
}

void ResourceCache::Remember(const ChangePtr& change) {
  ring_.push_back(change);
  ring_bytes_ += change->size();
  if (ring_.size() > kEncodedKept) ring_[ring_.size() - 1 - kEncodedKept]->ForgetEncoded();
  while (ring_.size() > kRingSize || (ring_bytes_ > kRingBytes && ring_.size() > kRingAlways)) {
    ring_start_ = ring_.front()->revision;
    ring_bytes_ -= ring_.front()->size();
    ring_.pop_front();
  }
}

void ResourceCache::Dispatch() {
  std::vector<ChangePtr> changes;
  std::vector<std::vector<SubscriberPtr>> concerned;
  std::vector<std::function<void(const Change&)>> observers;
  {
    MutexLock lock(mu_);
    changes.swap(undispatched_);
    dispatch_scheduled_ = false;
    observers = observers_;
    concerned.resize(changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) subscribers_.Find(*changes[i], concerned[i]);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const auto& observer : observers) observer(*changes[i]);
    for (const auto& subscriber : concerned[i])
      if (changes[i]->revision > subscriber->dispatched()) subscriber->Offer(changes[i]);
  }
}

void ResourceCache::BookmarkAll() {
  strand_->Post([self = shared_from_this()] { self->DispatchBookmarks(); });
}

void ResourceCache::DispatchBookmarks() {
  Dispatch();
  std::vector<SubscriberPtr> subscribers;
  store::Revision revision = 0;
  {
    MutexLock lock(mu_);
    if (!undispatched_.empty()) return;  // a change came in between; its own events advance the clients
    subscribers = subscribers_.All();
    revision = std::max(published_.load(std::memory_order_acquire), last_change_);
  }
  for (const auto& subscriber : subscribers) subscriber->Bookmark(revision);
}

void ResourceCache::CloseAll() {
  std::vector<SubscriberPtr> subscribers;
  {
    MutexLock lock(mu_);
    subscribers = std::exchange(subscribers_, {}).All();
  }
  for (const auto& subscriber : subscribers) subscriber->Close();
}

WatchCache::WatchCache(store::Store& store, Executor& executor) : store_(store), executor_(executor) {
  revision_ = store.CurrentRevision();
  watch_ = store_.WatchPrefix("/registry/", revision_, this);
}

WatchCache::~WatchCache() {
  watch_.reset();
  CloseAll();
}

Result<std::shared_ptr<ResourceCache>> WatchCache::AddResource(const std::string& prefix,
                                                               std::shared_ptr<const api::KindInfo> kind) {
  // Held while loading: the delivery thread waits, so no change falls between the load and the first Apply.
  MutexLock lock(mu_);
  auto& slot = caches_[prefix];
  if (slot) return slot;
  auto cache = std::make_shared<ResourceCache>(prefix, std::move(kind), executor_, revision_);
  auto range = store_.Range(prefix);
  if (!range) {
    caches_.erase(prefix);
    return Unexpected(range.error());
  }
  std::vector<ObjectPtr> objects;
  objects.reserve(range->items.size());
  for (auto& item : range->items) {
    auto object = StoredObject::Build(item.value, item.mod_revision, cache->kind());
    if (!object) {
      log::Error("object left out of the watch cache",
                 {{"key", item.key}, {"error", object.error().message()}});
      continue;
    }
    objects.push_back(std::move(*object));
  }
  cache->Load(std::move(objects), range->revision);
  return slot = cache;
}

void WatchCache::RemoveResource(const std::string& prefix) {
  std::shared_ptr<ResourceCache> removed;
  {
    MutexLock lock(mu_);
    const auto it = caches_.find(prefix);
    if (it == caches_.end()) return;
    removed = std::move(it->second);
    caches_.erase(it);
  }
  removed->CloseAll();
}

std::shared_ptr<ResourceCache> WatchCache::Find(std::string_view key) const {
  auto it = caches_.upper_bound(key);
  if (it == caches_.begin()) return nullptr;
  --it;
  return key.starts_with(it->first) ? it->second : nullptr;
}

void WatchCache::OnEvents(const std::vector<store::Event>& events) {
  if (events.empty()) return;
  MutexLock lock(mu_);
  for (const auto& event : events)
    if (const auto cache = Find(event.kv.key)) cache->Apply(event);
  revision_.store(events.back().kv.mod_revision, std::memory_order_release);
}

void WatchCache::OnProgress(store::Revision revision) {
  MutexLock lock(mu_);
  if (revision > revision_) revision_.store(revision, std::memory_order_release);
}

void WatchCache::OnError(const Error& error) {
  log::Error("the watch on the store ended; every client watch is closed", {{"error", error.ToString()}});
  CloseAll();
}

void WatchCache::CloseAll() {
  std::vector<std::shared_ptr<ResourceCache>> caches;
  {
    MutexLock lock(mu_);
    for (const auto& [prefix, cache] : caches_) caches.push_back(cache);
  }
  for (const auto& cache : caches) cache->CloseAll();
}

void WatchCache::BookmarkAll() {
  std::vector<std::shared_ptr<ResourceCache>> caches;
  {
    MutexLock lock(mu_);
    for (const auto& [prefix, cache] : caches_) caches.push_back(cache);
  }
  for (const auto& cache : caches) cache->BookmarkAll();
}

}  // namespace flyball::server
