#include "controller/write_tracker.h"

#include <atomic>
#include <utility>

namespace flyball {
namespace {

// The decimal number after `version`.
std::string Successor(std::string version) {
  for (std::size_t i = version.size(); i > 0; --i) {
    if (version[i - 1] != '9') {
      ++version[i - 1];
      return version;
    }
    version[i - 1] = '0';
  }
  return "1" + version;
}

}  // namespace

class WriteTracker::Observer final : public WriteObserver {
 public:
  Observer(std::weak_ptr<WriteTracker> tracker, ObjectKey key)
      : tracker_(std::move(tracker)), key_(std::move(key)) {}

  void OnWrite(const KindRef& kind, std::string_view ns, std::string_view name,
               std::string_view resource_version, bool deleted) override {
    const auto tracker = tracker_.lock();
    if (!tracker || resource_version.empty()) return;
    tracker->Remember(key_, {kind, std::string(ns), std::string(name), std::string(resource_version), deleted,
                             tracker->runtime_.clock().Steady()});
  }

 private:
  const std::weak_ptr<WriteTracker> tracker_;
  const ObjectKey key_;
};

std::shared_ptr<WriteObserver> WriteTracker::ObserverFor(const ObjectKey& key) {
  return std::make_shared<Observer>(weak_from_this(), key);
}

void WriteTracker::Remember(const ObjectKey& key, Write write) {
  MutexLock lock(mu_);
  std::vector<Write>& writes = writes_[key];
  // Of one object only the last write counts: versions of a kind only grow.
  for (Write& known : writes) {
    if (known.kind.plural == write.kind.plural && known.kind.group == write.kind.group &&
        known.ns == write.ns && known.name == write.name) {
      known = std::move(write);
      return;
    }
  }
  writes.push_back(std::move(write));
}

void WriteTracker::Forget(const ObjectKey& key) {
  MutexLock lock(mu_);
  writes_.erase(key);
}

std::shared_ptr<InformerCore> WriteTracker::Lagging(const Write& write, std::string* version) {
  if (runtime_.clock().Steady() - write.at >= kTimeout) return nullptr;
  auto cache = informers_.Find(write.kind);
  if (!cache || (!cache->ns().empty() && cache->ns() != write.ns)) return nullptr;
  *version = write.resource_version;
  if (!write.deleted) return cache->HasReached(*version) ? nullptr : cache;
  // The answer to a delete shows the object as it was, or with its deletion begun: what has to be seen is
  // that it is gone or has moved on.
  if (!cache->store()->Get(write.ns, write.name)) return nullptr;
  *version = Successor(*version);
  return cache->HasReached(*version) ? nullptr : cache;
}

bool WriteTracker::CaughtUp(const ObjectKey& key, Closure ready) {
  std::vector<Write> writes;
  {
    MutexLock lock(mu_);
    const auto it = writes_.find(key);
    if (it == writes_.end()) return true;
    writes = it->second;
  }
  for (const Write& write : writes) {
    std::string version;
    const auto cache = Lagging(write, &version);
    if (!cache) continue;
    // Whichever comes first: the cache, or the end of our patience.
    struct Once {
      std::atomic<bool> done = false;
      Closure fn;
    };
    auto once = std::make_shared<Once>();
    once->fn = std::move(ready);
    const auto fire = [once] {
      if (!once->done.exchange(true)) once->fn();
    };
    cache->WhenReached(version, fire);
    runtime_.executor.PostAt(write.at + kTimeout, fire);
    return false;
  }
  Forget(key);
  return true;
}

}  // namespace flyball
