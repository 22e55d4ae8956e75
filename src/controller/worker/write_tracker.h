// WriteTracker: read-your-own-writes. Remembers, per reconciled key, what its reconciles wrote, so that the
// next one can wait until the caches have come that far. Of a write whose answer was lost nobody knows
// whether it was done: before the next reconcile the server is asked, and its answer waited for in the same
// way.
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
  // A cache that has not caught up after this long is not waited for any more: better to act on a stale cache
  // than never (as Expectations).
  static constexpr Duration kTimeout = std::chrono::minutes(5);
  // Between two questions to a server that does not answer.
  static constexpr Duration kAskAgain = std::chrono::seconds(1);

  WriteTracker(Client client, InformerFactory& informers)
      : client_(std::move(client)), informers_(informers), runtime_(client_.runtime()) {}

  // Of the client given to a reconcile of `key`.
  std::shared_ptr<WriteObserver> ObserverFor(const ObjectKey& key);

  // True if every cache shows what was written for `key`; else `ready` is called once, on the executor or
  // inline, when it is worth asking again.
  bool CaughtUp(const ObjectKey& key, Closure ready);
  void Forget(const ObjectKey& key);

 private:
  // What the cache of a kind has to show.
  struct Write {
    enum class Awaits {
      kVersion,  // `version` or later: of all writes of a kind the latest says enough
      kChange,   // that the object is gone, or later than `version`
      kAnswer,   // nobody knows yet: it may have been done or not. A create by generateName has no name
    };
    Awaits awaits;
    KindRef kind;
    std::string ns, name, version;
    SteadyTime at{};
  };
  class Observer;
  void Remember(const ObjectKey& key, Write write);
  // Null if the write is visible or not to be waited for; else the version its cache has to reach before
  // looking again is worth while.
  std::shared_ptr<InformerCore> Lagging(const Write& write, std::string* version);
  void WaitFor(const std::shared_ptr<InformerCore>& cache, const std::string& version, SteadyTime until,
               Closure ready);
  void Ask(const ObjectKey& key, const Write& write, Closure ready);
  // The answer is in. Nothing to wait for if there is no `known`.
  void Resolve(const ObjectKey& key, const Write& unknown, std::optional<Write> known);

  const Client client_;
  InformerFactory& informers_;
  const Runtime runtime_;
  Mutex mu_;
  std::unordered_map<ObjectKey, std::vector<Write>> writes_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
