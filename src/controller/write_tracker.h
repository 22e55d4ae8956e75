// WriteTracker: read-your-own-writes. Remembers, per reconciled key, the version of what its reconciles
// wrote, so that the next one can wait until the caches have come that far.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "client/client.h"
#include "informer/informer_factory.h"

namespace flyball {

// Thread-safe. Must be owned by a shared_ptr.
class WriteTracker : public std::enable_shared_from_this<WriteTracker> {
 public:
  // A cache that has not caught up after this long is not waited for any more.
  static constexpr Duration kTimeout = std::chrono::seconds(10);

  WriteTracker(InformerFactory& informers, const Runtime& runtime)
      : informers_(informers), runtime_(runtime) {}

  // Of the client given to a reconcile of `key`.
  std::shared_ptr<WriteObserver> ObserverFor(const ObjectKey& key);

  // True if every cache shows what was written for `key`; else `ready` is called once, on the executor, when
  // it is worth asking again.
  bool CaughtUp(const ObjectKey& key, Closure ready);
  void Forget(const ObjectKey& key);

 private:
  struct Write {
    KindRef kind;
    std::string ns, name, resource_version;
    bool deleted = false;
    SteadyTime at{};
  };
  class Observer;
  void Remember(const ObjectKey& key, Write write);
  // Null if the write is visible or not to be waited for; else the version its cache has to reach.
  std::shared_ptr<InformerCore> Lagging(const Write& write, std::string* version);

  InformerFactory& informers_;
  const Runtime runtime_;
  Mutex mu_;
  std::unordered_map<ObjectKey, std::vector<Write>> writes_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
