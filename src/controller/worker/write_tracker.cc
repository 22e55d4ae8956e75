#include "controller/worker/write_tracker.h"

#include <atomic>
#include <utility>

#include "json/json.h"

namespace flyball {
namespace {

// Returns the decimal number after `version`.
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

bool SameKind(const KindRef& a, const KindRef& b) {
  return a.plural == b.plural && a.group == b.group;
}

// The newest version among the objects of a list. The version of the list itself may be one that no object of
// the kind has, and no cache of it would reach it soon.
std::string NewestOf(const json::Value& list) {
  std::string newest;
  const json::Value& items = list["items"];
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view version = items.as_array()[i]["metadata"]["resourceVersion"].string_or("");
    if (VersionAtLeast(version, newest)) newest = version;
  }
  return newest;
}

}  // namespace

class WriteTracker::Observer final : public WriteObserver {
 public:
  Observer(std::weak_ptr<WriteTracker> tracker, ObjectKey key)
      : tracker_(std::move(tracker)), key_(std::move(key)) {}

  void OnWrite(const KindRef& kind, std::string_view ns, std::string_view name,
               std::string_view resource_version, bool deleted) override {
    if (resource_version.empty()) return;
    Remember(deleted ? Write::Awaits::kChange : Write::Awaits::kVersion, kind, ns, name, resource_version);
  }
  void OnUnknown(const KindRef& kind, std::string_view ns, std::string_view name) override {
    Remember(Write::Awaits::kAnswer, kind, ns, name, "");
  }

 private:
  void Remember(Write::Awaits awaits, const KindRef& kind, std::string_view ns, std::string_view name,
                std::string_view version) {
    if (const auto tracker = tracker_.lock())
      tracker->Remember(key_, {awaits, kind, std::string(ns), std::string(name), std::string(version),
                               tracker->runtime_.clock().Steady()});
  }

  const std::weak_ptr<WriteTracker> tracker_;
  const ObjectKey key_;
};

std::shared_ptr<WriteObserver> WriteTracker::ObserverFor(const ObjectKey& key) {
  return std::make_shared<Observer>(weak_from_this(), key);
}

void WriteTracker::Remember(const ObjectKey& key, Write write) {
  const auto cache = informers_.Find(write.kind);
  if (!cache || (!cache->ns().empty() && cache->ns() != write.ns)) return;
  MutexLock lock(mu_);
  std::vector<Write>& writes = writes_[key];
  for (Write& known : writes) {
    if (known.awaits != write.awaits || !SameKind(known.kind, write.kind)) continue;
    const bool same_object = known.ns == write.ns && known.name == write.name;
    if (write.awaits != Write::Awaits::kVersion && !same_object) continue;
    if (VersionAtLeast(write.version, known.version)) known = std::move(write);
    return;
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
  if (!cache) return nullptr;
  if (write.awaits == Write::Awaits::kVersion) {
    *version = write.version;
    return cache->HasReached(*version) ? nullptr : cache;
  }
  const std::string shown = cache->VersionOf(write.ns, write.name);
  if (shown.empty() || !VersionAtLeast(write.version, shown)) return nullptr;
  *version = Successor(cache->resource_version());
  return cache;
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
    if (write.awaits == Write::Awaits::kAnswer) {
      Ask(key, write, std::move(ready));
      return false;
    }
    std::string version;
    const auto cache = Lagging(write, &version);
    if (!cache) continue;
    WaitFor(cache, version, write.at + kTimeout, std::move(ready));
    return false;
  }
  Forget(key);
  return true;
}

// Whichever comes first: the cache, or the timeout.
void WriteTracker::WaitFor(const std::shared_ptr<InformerCore>& cache, const std::string& version,
                           SteadyTime until, Closure ready) {
  struct Once {
    std::atomic<bool> done = false;
    std::atomic<TimerId> timer = kNoTimer;
    Closure fn;
  };
  auto once = std::make_shared<Once>();
  once->fn = std::move(ready);
  once->timer = runtime_.executor.PostAt(until, [once] {
    if (!once->done.exchange(true)) once->fn();
  });
  cache->WhenReached(version, [once, &executor = runtime_.executor] {
    if (once->done.exchange(true)) return;
    executor.Cancel(once->timer);
    once->fn();
  });
}

void WriteTracker::Ask(const ObjectKey& key, const Write& write, Closure ready) {
  RestRequest request;
  request.path = write.kind.Path(write.ns, write.name);
  request.accept = write.name.empty() ? "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
                                      : "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
  request.accept += ",application/json";
  auto shared_ready = std::make_shared<Closure>(std::move(ready));
  client_.rest().Start(std::move(request), [self = shared_from_this(), key, write,
                                            shared_ready](Result<RestResponse> answer) {
    if (!answer && answer.error().code() >= 500) {
      self->runtime_.executor.PostAfter(kAskAgain, [shared_ready] { (*shared_ready)(); });
      return;
    }
    Write known = write;
    known.at = self->runtime_.clock().Steady();
    const auto body = answer ? json::Parse(answer->body) : Result<json::Value>(json::Value());
    const json::Value shown = body ? std::move(*body) : json::Value();
    if (answer) {
      known.awaits = Write::Awaits::kVersion;
      known.version = write.name.empty() ? NewestOf(shown)
                                         : std::string(shown["metadata"]["resourceVersion"].string_or(""));
    } else if (const auto cache = self->informers_.Find(write.kind); cache && !write.name.empty()) {
      // The object is gone, and the cache may not know yet.
      known.awaits = Write::Awaits::kChange;
      known.version = cache->VersionOf(write.ns, write.name);
    }
    self->Resolve(key, write, known.version.empty() ? std::nullopt : std::optional(std::move(known)));
    (*shared_ready)();
  });
}

void WriteTracker::Resolve(const ObjectKey& key, const Write& unknown, std::optional<Write> known) {
  {
    MutexLock lock(mu_);
    std::erase_if(writes_[key], [&](const Write& write) {
      return write.awaits == Write::Awaits::kAnswer && SameKind(write.kind, unknown.kind) &&
             write.ns == unknown.ns && write.name == unknown.name && write.at == unknown.at;
    });
  }
  if (known) Remember(key, std::move(*known));
}

}  // namespace flyball
