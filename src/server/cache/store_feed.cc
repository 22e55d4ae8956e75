#include "server/cache/store_feed.h"

#include "base/observe/log.h"

namespace flyball::server {

namespace {

// After a store that could not be read.
constexpr Duration kResumePause = std::chrono::seconds(1);
// After objects whose key could not be had. Each try asks a plugin, which may take seconds to fail.
constexpr Duration kReloadPause = std::chrono::seconds(5);

}  // namespace

StoreFeed::StoreFeed(store::Store& store, Executor& executor)
    : store_(store),
      executor_(executor),
      resume_(executor, [this] { Resume(); }),
      reload_(executor, [this] { Reload(); }) {
  revision_ = store.CurrentRevision();
  watch_ = store_.WatchPrefix("/registry/", revision_, this);
}

StoreFeed::~StoreFeed() {
  resume_.Close();
  reload_.Close();
  watch_.reset();
  for (const auto& cache : All()) cache->CloseAll();
}

Result<store::Revision> StoreFeed::ReadObjects(ResourceCache& cache) {
  FLYBALL_ASSIGN(store::RangeResult range, store_.Range(cache.prefix()));
  if (cache.is_loaded()) {
    cache.Reconcile(std::move(range.items), range.revision);
    return range.revision;
  }
  std::vector<ObjectPtr> objects;
  objects.reserve(range.items.size());
  for (auto& item : range.items) {
    auto object = cache.Build(std::move(item.value), item.mod_revision);
    if (!object) {
      log::Error("object left out of the watch cache",
                 {{"key", item.key}, {"error", object.error().message()}});
      continue;
    }
    objects.push_back(std::move(*object));
  }
  cache.Load(std::move(objects), range.revision);
  return range.revision;
}

bool StoreFeed::IsLoading(const ResourceCache& cache) const {
  MutexLock lock(mu_);
  const auto it = slots_.find(cache.prefix());
  return it != slots_.end() && it->second.cache.get() == &cache && it->second.state == Slot::State::kLoading;
}

Status StoreFeed::Fill(const std::shared_ptr<ResourceCache>& cache) {
  MutexLock only(cache->filling());
  if (!IsLoading(*cache)) return {};  // somebody else has filled it, or it was removed
  // Changes are collected meanwhile, so none falls between the read and the first one that is applied.
  const auto reached = ReadObjects(*cache);
  MutexLock lock(mu_);
  loaded_.NotifyAll();
  const auto it = slots_.find(cache->prefix());
  if (it == slots_.end() || it->second.cache != cache) return {};  // removed meanwhile
  Slot& slot = it->second;
  const auto missed = std::exchange(slot.missed, {});
  if (reached) {
    for (const auto& event : missed)
      if (event.kv.mod_revision > *reached) cache->Apply(event);
    slot.state = Slot::State::kLive;
    cache->SetReadable({});
    return {};
  }
  if (!reached.error().Is(Reason::kServiceUnavailable)) return Unexpected(reached.error());
  if (cache->readable())
    log::Error("objects cannot be read; trying again",
               {{"prefix", cache->prefix()}, {"error", reached.error().message()}});
  slot.state = Slot::State::kUnreadable;
  cache->SetReadable(Unexpected(InternalError(reached.error().message())));
  reload_.Set(executor_.clock().Steady() + kReloadPause);
  return {};
}

void StoreFeed::Reload() {
  std::vector<std::shared_ptr<ResourceCache>> caches;
  {
    MutexLock lock(mu_);
    for (auto& [prefix, slot] : slots_) {
      if (slot.state != Slot::State::kUnreadable) continue;
      slot.state = Slot::State::kLoading;
      caches.push_back(slot.cache);
    }
  }
  for (const auto& cache : caches)
    if (const Status filled = Fill(cache); !filled) return OnError(filled.error());
}

Result<std::shared_ptr<ResourceCache>> StoreFeed::AddResource(const std::string& prefix,
                                                              std::shared_ptr<const api::KindInfo> kind,
                                                              StoredObject::ReadForm form) {
  std::shared_ptr<ResourceCache> cache;
  {
    MutexLock lock(mu_);
    for (auto it = slots_.find(prefix); it != slots_.end(); it = slots_.find(prefix)) {
      if (it->second.state != Slot::State::kLoading) return it->second.cache;
      loaded_.Wait(mu_);
    }
    cache = std::make_shared<ResourceCache>(prefix, std::move(kind), executor_, revision_, std::move(form));
    slots_[prefix].cache = cache;
  }
  if (const Status filled = Fill(cache); !filled) {
    MutexLock lock(mu_);
    const auto it = slots_.find(prefix);
    if (it != slots_.end() && it->second.cache == cache) slots_.erase(it);
    loaded_.NotifyAll();
    return Unexpected(filled.error());
  }
  return cache;
}

void StoreFeed::RemoveResource(const std::string& prefix) {
  std::shared_ptr<ResourceCache> removed;
  {
    MutexLock lock(mu_);
    const auto it = slots_.find(prefix);
    if (it == slots_.end()) return;
    removed = std::move(it->second.cache);
    slots_.erase(it);
    loaded_.NotifyAll();
  }
  removed->CloseAll();
}

StoreFeed::Slot* StoreFeed::Find(std::string_view key) {
  auto it = slots_.upper_bound(key);
  if (it == slots_.begin()) return nullptr;
  --it;
  return key.starts_with(it->first) ? &it->second : nullptr;
}

void StoreFeed::OnEvents(const std::vector<store::Event>& events) {
  if (events.empty()) return;
  MutexLock lock(mu_);
  for (const auto& event : events) {
    Slot* slot = Find(event.kv.key);
    if (!slot) continue;
    if (slot->state == Slot::State::kLoading) slot->missed.push_back(event);
    if (slot->state == Slot::State::kLive) slot->cache->Apply(event);
  }
  revision_.store(events.back().kv.mod_revision, std::memory_order_release);
}

void StoreFeed::OnProgress(store::Revision revision) {
  MutexLock lock(mu_);
  if (revision > revision_) revision_.store(revision, std::memory_order_release);
}

void StoreFeed::OnError(const Error& error) {
  log::Error("the watch on the store ended; reading everything again", {{"error", error.ToString()}});
  resume_.Set(executor_.clock().Steady());
}

void StoreFeed::Resume() {
  watch_.reset();
  const auto caches = All();
  {
    MutexLock lock(mu_);
    for (auto& [prefix, slot] : slots_) {
      slot.state = Slot::State::kLoading;
      slot.missed.clear();
    }
  }
  // A read tells the newest revision, where the new watch begins.
  const auto newest = store_.Range("/registry/", {.limit = 1});
  Status status = newest ? Status() : Unexpected(newest.error());
  if (status) watch_ = store_.WatchPrefix("/registry/", newest->revision, this);
  for (auto it = caches.begin(); status && it != caches.end(); ++it) status = Fill(*it);
  if (!status) {
    log::Error("the store cannot be read; trying again", {{"error", status.error().message()}});
    return resume_.Set(executor_.clock().Steady() + kResumePause);
  }
  MutexLock lock(mu_);
  if (newest->revision > revision_) revision_.store(newest->revision, std::memory_order_release);
}

std::vector<std::shared_ptr<ResourceCache>> StoreFeed::All() const {
  std::vector<std::shared_ptr<ResourceCache>> caches;
  MutexLock lock(mu_);
  for (const auto& [prefix, slot] : slots_) caches.push_back(slot.cache);
  return caches;
}

}  // namespace flyball::server
