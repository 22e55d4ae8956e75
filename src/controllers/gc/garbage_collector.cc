#include "controllers/gc/garbage_collector.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "controller/objects/served_kinds.h"
#include "controllers/gc/collection.h"
#include "controllers/gc/monitors.h"

namespace flyball::controllers {
namespace {

// Keys of the queue: the set of kinds, or one object by its UID.
const ObjectKey kFollowKinds{"", "kinds"};
ObjectKey KeyOfUid(const std::string& uid) {
  return {"uid", uid};
}

constexpr Duration kFirstPatience = std::chrono::milliseconds(50);
constexpr Duration kLastPatience = std::chrono::seconds(30);

// Thread-safe.
class GarbageCollector : public std::enable_shared_from_this<GarbageCollector> {
 public:
  GarbageCollector(Client client, std::shared_ptr<ServedKinds> kinds)
      : kinds_(std::move(kinds)), client_(std::move(client)) {}

  void Bind(const std::shared_ptr<Controller>& controller) {
    controller_ = controller;
    const auto weak = weak_from_this();
    monitors_ = std::make_shared<Monitors>(client_, graph_, [weak](const ObjectGraph::Uids& uids) {
      if (const auto self = weak.lock()) self->LookAt(uids);
    });
    monitors_->OnSynced([weak] {
      if (const auto self = weak.lock()) self->ReleaseWaiting();
    });
    kinds_->OnChange([weak] {
      if (const auto self = weak.lock()) self->KindsChanged();
    });
    controller->Enqueue(kFollowKinds);
  }

  Result<Action> Reconcile(const ObjectKey& key, Context& ctx) {
    if (key == kFollowKinds) return FollowKinds();
    // An owner may not have been listed yet, so nothing is decided before everything is known.
    if (HoldBack(key.name)) return Done();
    ObjectGraph::Uids next;
    auto result = Collection(graph_, *kinds_, ctx, next).Run(key.name);
    LookAt(next);
    return result;
  }

 private:
  void KindsChanged() {
    patience_ = kFirstPatience;
    if (const auto target = controller_.lock()) target->Enqueue(kFollowKinds);
  }
  Result<Action> FollowKinds() {
    FLYBALL_ASSIGN(const std::vector<ApiResource> kinds, kinds_->Deletable());
    monitors_->Follow(kinds);
    LookAt(graph_.VirtualNodes());
    if (!kinds_->MissesAny(kinds)) return Done();
    const Duration delay = patience_;
    patience_ = std::min(2 * delay, kLastPatience);
    return RequeueAfter(delay);
  }

  bool HoldBack(const std::string& uid) {
    MutexLock lock(mu_);
    if (monitors_->HasSynced()) return false;
    waiting_.insert(uid);
    return true;
  }
  void ReleaseWaiting() {
    std::set<std::string> waiting;
    {
      MutexLock lock(mu_);
      waiting.swap(waiting_);
    }
    LookAt({waiting.begin(), waiting.end()});
  }

  void LookAt(const ObjectGraph::Uids& uids) {
    const auto target = controller_.lock();
    if (!target) return;
    for (const std::string& uid : uids) target->Enqueue(KeyOfUid(uid));
  }

  const std::shared_ptr<ServedKinds> kinds_;
  const Client client_;
  std::weak_ptr<Controller> controller_;
  ObjectGraph graph_;
  std::shared_ptr<Monitors> monitors_;
  // How long until discovery is read again for a definition that it does not list.
  std::atomic<Duration> patience_ = kFirstPatience;
  Mutex mu_;
  std::set<std::string> waiting_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

Status AddGarbageCollector(Manager& manager, int workers) {
  const auto collector = std::make_shared<GarbageCollector>(manager.client(), ServedKinds::Make(manager));
  ControllerOptions options;
  options.name = "garbage-collector-controller";
  options.workers = workers;
  // Acts on objects just read from the server, not on a cache.
  options.read_your_writes = false;
  const auto controller = manager.AddController(
      options, [collector](const ObjectKey& key, Context& ctx) { return collector->Reconcile(key, ctx); });
  collector->Bind(controller);
  return {};
}

}  // namespace flyball::controllers
