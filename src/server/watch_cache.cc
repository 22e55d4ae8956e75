#include "server/watch_cache.h"

#include <algorithm>

#include "base/log.h"

namespace flyball::server {

std::string_view ChangeTypeName(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "ADDED";
    case ChangeType::kModified:
      return "MODIFIED";
    case ChangeType::kDeleted:
      return "DELETED";
  }
  return "";
}

Bytes Change::Encoded(ChangeType type) const {
  MutexLock lock(mu_);
  auto& slot = encoded_[static_cast<int>(type)];
  if (slot) return slot;
  const auto& shown = type == ChangeType::kDeleted ? previous : object;
  std::string text;
  text.reserve(shown->bytes()->size() + 96);
  text += "{\"type\":\"";
  text += ChangeTypeName(type);
  text += "\",\"object\":";
  shown->AppendJson(text, StoredObject::Form::kWhole, revision);
  text += "}\n";
  return slot = MakeBytes(std::move(text));
}

void Change::ForgetEncoded() const {
  MutexLock lock(mu_);
  for (Bytes& slot : encoded_) slot = nullptr;
}

bool ObjectFilter::Accepts(const StoredObject& object) const {
  if (!namespace_name.empty() && object.namespace_name() != namespace_name) return false;
  if (!name.empty() && object.name() != name) return false;
  return !matches || matches(object);
}

bool Subscriber::Take(std::vector<Item>& out, Closure wake) {
  MutexLock lock(mu_);
  out.clear();
  if (!queue_.empty() || closed_) {
    out.swap(queue_);
    catching_up_ = queued_bytes_ = 0;
    return true;
  }
  wake_ = std::move(wake);
  return false;
}

bool Subscriber::closed() const {
  MutexLock lock(mu_);
  return closed_;
}

void Subscriber::Close() {
  Closure wake;
  {
    MutexLock lock(mu_);
    closed_ = true;
    wake = std::move(wake_);
  }
  if (wake) wake();
}

void Subscriber::Push(Item item) {
  Closure wake;
  {
    MutexLock lock(mu_);
    if (closed_) return;
    if (item.change) queued_bytes_ += item.change->size();
    if (queue_.size() >= catching_up_ + kMaxQueued || queued_bytes_ > kMaxQueuedBytes) {
      closed_ = true;
      queue_ = {};
    } else {
      queue_.push_back(std::move(item));
    }
    wake = std::move(wake_);
  }
  if (wake) wake();
}

std::optional<Subscriber::Item> Subscriber::Select(const ChangePtr& change) const {
  const bool now = change->object && filter_.Accepts(*change->object);
  const bool before = change->previous && filter_.Accepts(*change->previous);
  if (!now && !before) return std::nullopt;
  const auto type = !before ? ChangeType::kAdded : now ? ChangeType::kModified : ChangeType::kDeleted;
  return Item{change, type, change->revision};
}

void Subscriber::Offer(const ChangePtr& change) {
  if (auto item = Select(change)) Push(std::move(*item));
}

void Subscriber::CatchUp(const ChangePtr& change) {
  auto item = Select(change);
  if (!item) return;
  MutexLock lock(mu_);
  queue_.push_back(std::move(*item));
  ++catching_up_;
}

void Subscriber::Bookmark(store::Revision revision) {
  Push({nullptr, ChangeType::kModified, revision});
}

ResourceCache::ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind,
                             Executor& executor, const std::atomic<store::Revision>& published)
    : prefix_(std::move(prefix)),
      kind_(std::move(kind)),
      strand_(std::make_shared<Strand>(executor)),
      published_(published) {}

ObjectPtr ResourceCache::Get(std::string_view key) const {
  MutexLock lock(mu_);
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
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
  MutexLock lock(mu_);
  return Snapshot(filter);
}

ListSnapshot ResourceCache::Snapshot(const ObjectFilter& filter) const {
  ListSnapshot snapshot;
  snapshot.revision = std::max(published_.load(std::memory_order_acquire), last_change_);
  if (!filter.namespace_name.empty() && !filter.name.empty()) {
    const auto it = objects_.find(filter.namespace_name + "/" + filter.name);
    if (it != objects_.end() && filter.Accepts(*it->second)) snapshot.objects.push_back(it->second);
    return snapshot;
  }
  const std::string range = filter.namespace_name.empty() ? "" : filter.namespace_name + "/";
  if (range.empty() && !filter.matches && filter.name.empty()) snapshot.objects.reserve(objects_.size());
  for (auto it = objects_.lower_bound(range); it != objects_.end() && it->first.starts_with(range); ++it)
    if (filter.Accepts(*it->second)) snapshot.objects.push_back(it->second);
  return snapshot;
}

Result<Subscription> ResourceCache::SubscribeAfter(ObjectFilter filter, store::Revision after) {
  Subscription subscription{std::make_shared<Subscriber>(std::move(filter)), {}, after};
  MutexLock lock(mu_);
  if (after < ring_start_)
    return Unexpected(Error(Reason::kExpired, "too old resource version: " + std::to_string(after) + " (" +
                                                  std::to_string(ring_start_ + 1) + ")"));
  // What is not dispatched yet is in the ring too: it is offered here, and the dispatch skips new subscribers
  // by version.
  const auto first = std::upper_bound(ring_.begin(), ring_.end(), after,
                                      [](store::Revision r, const ChangePtr& c) { return r < c->revision; });
  for (auto it = first; it != ring_.end(); ++it) subscription.subscriber->CatchUp(*it);
  subscription.subscriber->set_dispatched(std::max(last_change_, after));
  subscribers_.push_back(subscription.subscriber);
  return subscription;
}

Subscription ResourceCache::SubscribeNow(ObjectFilter filter) {
  MutexLock lock(mu_);
  auto snapshot = Snapshot(filter);
  Subscription subscription{std::make_shared<Subscriber>(std::move(filter)), std::move(snapshot.objects),
                            snapshot.revision};
  subscription.subscriber->set_dispatched(last_change_);
  subscribers_.push_back(subscription.subscriber);
  return subscription;
}

void ResourceCache::Unsubscribe(const std::shared_ptr<Subscriber>& subscriber) {
  MutexLock lock(mu_);
  std::erase(subscribers_, subscriber);
}

void ResourceCache::Observe(std::function<void(const Change&)> fn) {
  MutexLock lock(mu_);
  observers_.push_back(std::move(fn));
}

void ResourceCache::Load(std::vector<ObjectPtr> objects, store::Revision revision) {
  MutexLock lock(mu_);
  for (auto& object : objects) {
    auto key =
        object->namespace_name().empty() ? object->name() : object->namespace_name() + "/" + object->name();
    objects_.emplace_hint(objects_.end(), std::move(key), std::move(object));
  }
  ring_start_ = last_change_ = revision;
}

void ResourceCache::Apply(const store::Event& event) {
  const std::string_view key = std::string_view(event.kv.key).substr(prefix_.size());
  ObjectPtr object;
  if (event.type == store::Event::Type::kPut) {
    auto built = StoredObject::Build(event.kv.value, event.kv.mod_revision, *kind_);
    if (!built) {
      log::Error("object left out of the watch cache",
                 {{"key", std::string(event.kv.key)}, {"error", built.error().message()}});
      return;
    }
    object = std::move(*built);
  }
  MutexLock lock(mu_);
  if (event.kv.mod_revision <= ring_start_) return;  // was loaded
  const auto it = objects_.find(key);
  ObjectPtr previous = it == objects_.end() ? nullptr : it->second;
  if (object) {
    if (it == objects_.end()) {
      objects_.emplace(key, object);
    } else {
      it->second = object;
    }
  } else if (it != objects_.end()) {
    objects_.erase(it);
  } else {
    return;
  }
  auto change = std::make_shared<const Change>(std::move(object), std::move(previous), event.kv.mod_revision);
  last_change_ = event.kv.mod_revision;
  Remember(change);
  undispatched_.push_back(std::move(change));
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
  std::vector<std::shared_ptr<Subscriber>> subscribers;
  std::vector<std::function<void(const Change&)>> observers;
  {
    MutexLock lock(mu_);
    changes.swap(undispatched_);
    dispatch_scheduled_ = false;
    subscribers = subscribers_;
    observers = observers_;
  }
  for (const auto& change : changes) {
    for (const auto& observer : observers) observer(*change);
    for (const auto& subscriber : subscribers)
      if (change->revision > subscriber->dispatched()) subscriber->Offer(change);
  }
}

void ResourceCache::BookmarkAll() {
  strand_->Post([self = shared_from_this()] { self->DispatchBookmarks(); });
}

void ResourceCache::DispatchBookmarks() {
  Dispatch();
  std::vector<std::shared_ptr<Subscriber>> subscribers;
  store::Revision revision = 0;
  {
    MutexLock lock(mu_);
    if (!undispatched_.empty()) return;  // a change came in between; its own events advance the clients
    subscribers = subscribers_;
    revision = std::max(published_.load(std::memory_order_acquire), last_change_);
  }
  for (const auto& subscriber : subscribers) subscriber->Bookmark(revision);
}

void ResourceCache::CloseAll() {
  std::vector<std::shared_ptr<Subscriber>> subscribers;
  {
    MutexLock lock(mu_);
    subscribers.swap(subscribers_);
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
