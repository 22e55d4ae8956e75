// SharedInformer<T>: one list and watch of a kind, one local store, and any number of handlers.
//
// Guarantees: the store is updated before its indexes, and these before handlers are called. Each handler is
// notified of changes in order, one at a time. A handler added late first gets an Add (marked initial) for
// everything stored.
// Caveats: handlers may be notified of an object when the store already holds a newer state; a delete and
// re-create may arrive as one Update (the UIDs differ); after a break in the watch a Delete may carry an
// older state (final_state_unknown).
// Bounds: the stream is not read while more than DeltaQueue::kHighWater changes wait. Each handler has a
// buffer; beyond kHandlerBuffer waiting notifications, those of the same object are merged, so that a stuck
// handler costs at most one notification per object, never all memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "client/client.h"
#include "informer/delta_queue.h"
#include "informer/object_store.h"
#include "informer/object_type.h"
#include "informer/reflector.h"

namespace flyball {

inline constexpr std::size_t kHandlerBuffer = 10000;

// Whether one resource version is equal to or newer than another. Versions are decimal numbers of any length;
// "" is older than all.
bool VersionAtLeast(std::string_view have, std::string_view want);

struct InformerOptions {
  ReflectorOptions reflector{};
};

// The registration of a handler with an informer. Thread-safe.
class HandlerRegistration {
 public:
  virtual ~HandlerRegistration() = default;
  // True if the informer has synced and the handler has been called for all objects that existed then.
  virtual bool HasSynced() const = 0;
  // Calls fn once HasSynced is true (on the executor; at once if it already is).
  virtual void OnSynced(Closure fn) = 0;
  // No call starts after this returns; one may still be running on another thread.
  virtual void Remove() = 0;
  // The number of waiting notifications.
  virtual std::size_t backlog() const = 0;
};

// Type-erased handler; see EventHandler<T>.
struct ErasedHandler {
  std::function<void(const ObjectPtr& object, bool initial)> on_add{};
  std::function<void(const ObjectPtr& old_object, const ObjectPtr& object)> on_update{};
  std::function<void(const ObjectPtr& object, bool final_state_unknown)> on_delete{};
};

// Type-erased; see SharedInformer<T>. Thread-safe. Must be owned by a shared_ptr.
class InformerCore : public std::enable_shared_from_this<InformerCore> {
 public:
  static std::shared_ptr<InformerCore> Make(Client client, const ObjectType& type, InformerOptions options);
  ~InformerCore();

  // Idempotent. After Stop it cannot be started again.
  void Start();
  void Stop();

  // `resync`: how often the handler wants an Update(x, x) for everything stored; zero: never.
  std::shared_ptr<HandlerRegistration> AddHandler(ErasedHandler handler, Duration resync);

  bool HasSynced() const;
  void OnSynced(Closure fn);
  // Blocks until synced. For main functions; never on the executor.
  void WaitForSync();

  // The newest version that the store is known to reflect; "" before the first list.
  std::string resource_version() const;
  // Calls fn (on the executor) once the store reflects `resource_version` or anything newer.
  void WhenReached(std::string_view resource_version, Closure fn);
  bool HasReached(std::string_view resource_version) const;
  // The resource version of a stored object; "" if it is absent.
  std::string VersionOf(std::string_view ns, std::string_view name) const;

  const std::shared_ptr<ObjectStore>& store() const;
  const KindRef& kind() const;
  const std::string& ns() const;  // the namespace it is limited to; "" for all
  const Reflector& reflector() const;

 private:
  struct State;
  explicit InformerCore(std::shared_ptr<State> state);
  const std::shared_ptr<State> state_;
};

// The notifications that a handler receives. Unset functions are skipped. They must not block; exceptions are
// logged and dropped.
template <typename T>
struct EventHandler {
  using Ptr = std::shared_ptr<const T>;
  std::function<void(const Ptr& object, bool initial)> on_add{};
  std::function<void(const Ptr& old_object, const Ptr& object)> on_update{};
  std::function<void(const Ptr& object, bool final_state_unknown)> on_delete{};
};

// Reads the store of an informer (upstream: Lister). A small value; thread-safe.
template <typename T>
class Lister {
 public:
  using Ptr = std::shared_ptr<const T>;
  explicit Lister(Indexer<T> indexer) : indexer_(std::move(indexer)) {}

  // Null if absent.
  Ptr Get(std::string_view ns, std::string_view name) const { return indexer_.Get(ns, name); }
  Ptr Get(std::string_view name) const { return indexer_.Get("", name); }
  Ptr Get(const ObjectKey& key) const { return indexer_.Get(key); }
  // All objects, or all objects of one namespace.
  std::vector<Ptr> List() const { return indexer_.List(); }
  std::vector<Ptr> List(std::string_view ns) const {
    return ns.empty() ? indexer_.List() : indexer_.ListNamespace(ns);
  }
  // The objects for which pred(const T&) holds.
  template <typename Pred>
  std::vector<Ptr> List(std::string_view ns, Pred&& pred) const {
    std::vector<Ptr> all = List(ns);
    std::erase_if(all, [&](const Ptr& object) { return !pred(*object); });
    return all;
  }
  std::vector<Ptr> ByIndex(std::string_view index, std::string_view value) const {
    return indexer_.ByIndex(index, value);
  }
  std::size_t size() const { return indexer_.size(); }

 private:
  Indexer<T> indexer_;
};

// A typed view of an InformerCore. A small value; thread-safe.
template <typename T>
class SharedInformer {
 public:
  using Ptr = std::shared_ptr<const T>;
  explicit SharedInformer(std::shared_ptr<InformerCore> core) : core_(std::move(core)) {}

  std::shared_ptr<HandlerRegistration> AddHandler(EventHandler<T> handler, Duration resync = {}) const {
    return core_->AddHandler(Erase(std::move(handler)), resync);
  }
  template <typename Fn>
  Status AddIndex(std::string name, Fn fn) const {
    return indexer().AddIndex(std::move(name), std::move(fn));
  }
  Indexer<T> indexer() const { return Indexer<T>(core_->store()); }
  Lister<T> lister() const { return Lister<T>(indexer()); }
  bool HasSynced() const { return core_->HasSynced(); }
  InformerCore& core() const { return *core_; }
  const std::shared_ptr<InformerCore>& shared_core() const { return core_; }

 private:
  static ErasedHandler Erase(EventHandler<T> handler) {
    const auto cast = [](const ObjectPtr& o) { return std::static_pointer_cast<const T>(o); };
    ErasedHandler erased;
    if (handler.on_add)
      erased.on_add = [fn = std::move(handler.on_add), cast](const ObjectPtr& o, bool initial) {
        fn(cast(o), initial);
      };
    if (handler.on_update)
      erased.on_update = [fn = std::move(handler.on_update), cast](const ObjectPtr& a, const ObjectPtr& b) {
        fn(cast(a), cast(b));
      };
    if (handler.on_delete)
      erased.on_delete = [fn = std::move(handler.on_delete), cast](const ObjectPtr& o, bool unknown) {
        fn(cast(o), unknown);
      };
    return erased;
  }

  std::shared_ptr<InformerCore> core_;
};

}  // namespace flyball
