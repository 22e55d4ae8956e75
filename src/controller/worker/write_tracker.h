// WriteTracker: lets reconciles read their own writes. It remembers per key what its reconciles wrote, so
// that the next one can wait until the caches show it. If the response to a write was lost, nobody knows
// whether the write happened. The tracker then asks the server before the next reconcile, and waits for what
// it reports in the same way.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/run/mutex.h"
#include "client/client.h"
#include "informer/informer_factory.h"

namespace flyball {

// Thread-safe. Must be owned by a shared_ptr.
class WriteTracker : public std::enable_shared_from_this<WriteTracker> {
 public:
  // How long to wait for a cache. After that it is better to act on a stale cache than never (as in
  // Expectations).
  static constexpr Duration kTimeout = std::chrono::minutes(5);
  // Time between two requests to a server that does not respond.
  static constexpr Duration kAskAgain = std::chrono::seconds(1);

  WriteTracker(Client client, InformerFactory& informers)
      : client_(std::move(client)), informers_(informers), runtime_(client_.runtime()) {}

  // The observer for the client of a reconcile of `key`.
  std::shared_ptr<WriteObserver> ObserverFor(const ObjectKey& key);

  // Returns true if every cache shows what was written for `key`. Otherwise calls `ready` once, on the
  // executor or inline, when it is worth asking again.
  bool CaughtUp(const ObjectKey& key, Closure ready);
  void Forget(const ObjectKey& key);

 private:
  // What the cache of a kind must show.
  struct Write {
    enum class Awaits {
      kVersion,  // `version` or later; of all writes of a kind, the latest is enough
      kChange,   // that the object is gone, or is newer than `version`
      kAnswer,   // not known yet whether the write happened. A create with generateName has no name
    };
    Awaits awaits;
    KindRef kind;
    std::string ns, name, version;
    SteadyTime at{};
  };
  class Observer;
  void Remember(const ObjectKey& key, Write write);
  // Returns null if the write is visible or not worth waiting for. Otherwise sets the version that the cache
  // must reach before it is worth looking again.
  std::shared_ptr<InformerCore> Lagging(const Write& write, std::string* version);
  void WaitFor(const std::shared_ptr<InformerCore>& cache, const std::string& version, SteadyTime until,
               Closure ready);
  void Ask(const ObjectKey& key, const Write& write, Closure ready);
  // Called with the server's response. Without `known` there is nothing to wait for.
  void Resolve(const ObjectKey& key, const Write& unknown, std::optional<Write> known);

  const Client client_;
  InformerFactory& informers_;
  const Runtime runtime_;
  Mutex mu_;
  std::unordered_map<ObjectKey, std::vector<Write>> writes_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
