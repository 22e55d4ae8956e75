#include "server/cache/watch_cache.h"

namespace flyball::server {

StoreFeed& WatchCache::FeedOf(const std::string& prefix) {
  store::Store& part = store_.PartOf(prefix);
  MutexLock lock(mu_);
  auto& feed = feeds_[&part];
  if (!feed) feed = std::make_unique<StoreFeed>(part, executor_);
  return *feed;
}

Result<std::shared_ptr<ResourceCache>> WatchCache::AddResource(const std::string& prefix,
                                                               std::shared_ptr<const api::KindInfo> kind,
                                                               StoredObject::ReadForm form) {
  return FeedOf(prefix).AddResource(prefix, std::move(kind), std::move(form));
}

void WatchCache::RemoveResource(const std::string& prefix) {
  FeedOf(prefix).RemoveResource(prefix);
}

std::vector<std::shared_ptr<ResourceCache>> WatchCache::All() const {
  std::vector<std::shared_ptr<ResourceCache>> caches;
  MutexLock lock(mu_);
  for (const auto& [store, feed] : feeds_)
    for (auto& cache : feed->All()) caches.push_back(std::move(cache));
  return caches;
}

void WatchCache::CloseAll() {
  for (const auto& cache : All()) cache->CloseAll();
}

void WatchCache::BookmarkAll() {
  for (const auto& cache : All()) cache->BookmarkAll();
}

}  // namespace flyball::server
