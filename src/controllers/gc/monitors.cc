#include "controllers/gc/monitors.h"

#include <algorithm>
#include <set>
#include <utility>

namespace flyball::controllers {
namespace {

// There are thousands of them, they own nothing, and they expire by themselves.
bool IsIgnored(const KindRef& kind) {
  return kind.plural == "events" && (kind.group.empty() || kind.group == "events.k8s.io");
}

bool CanWatch(const ApiResource& resource) {
  return std::find(resource.verbs.begin(), resource.verbs.end(), "watch") != resource.verbs.end();
}

}  // namespace

Monitors::~Monitors() {
  MutexLock lock(mu_);
  for (auto& [name, monitor] : monitors_) monitor.informer->Stop();
}

void Monitors::Follow(const std::vector<ApiResource>& kinds) {
  std::vector<Monitor> gone, added;
  {
    MutexLock lock(mu_);
    std::set<std::string> wanted;
    for (const ApiResource& resource : kinds) {
      if (!CanWatch(resource) || IsIgnored(resource.ref)) continue;
      const std::string name = resource.ref.GroupResource();
      wanted.insert(name);
      if (!monitors_.contains(name)) added.push_back(monitors_[name] = Start(resource.ref));
    }
    for (auto it = monitors_.begin(); it != monitors_.end();) {
      if (wanted.contains(it->first)) {
        ++it;
        continue;
      }
      gone.push_back(std::move(it->second));
      it = monitors_.erase(it);
    }
  }
  for (const Monitor& monitor : gone) monitor.informer->Stop();
  for (const Monitor& monitor : added) {
    monitor.informer->Start();
    monitor.handler->OnSynced([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->HasSynced() && self->synced_) self->synced_();
    });
  }
}

Monitors::Monitor Monitors::Start(const KindRef& kind) {
  InformerOptions options;
  options.reflector.kind = kind;
  const SharedInformer<PartialObject> informer(
      InformerCore::Make(client_, ObjectTypeOf<PartialObject>(), std::move(options)));
  using Ptr = std::shared_ptr<const PartialObject>;
  const auto ref = std::make_shared<const KindRef>(kind);
  const auto observe = [weak = weak_from_this(), ref](const Ptr& object) {
    if (const auto self = weak.lock()) self->look_at_(self->graph_.Observe(ref, *object));
  };
  const auto remove = [weak = weak_from_this()](const Ptr& object) {
    if (const auto self = weak.lock()) self->look_at_(self->graph_.Remove(std::string(object->uid())));
  };
  EventHandler<PartialObject> handler;
  handler.on_add = [observe](const Ptr& object, bool) { observe(object); };
  handler.on_update = [observe, remove](const Ptr& old_object, const Ptr& object) {
    // Deleted and created again while nobody watched.
    if (old_object->uid() != object->uid()) remove(old_object);
    observe(object);
  };
  handler.on_delete = [remove](const Ptr& object, bool) { remove(object); };
  return {informer.shared_core(), informer.AddHandler(std::move(handler))};
}

bool Monitors::HasSynced() const {
  MutexLock lock(mu_);
  return !monitors_.empty() && std::all_of(monitors_.begin(), monitors_.end(), [](const auto& entry) {
    return entry.second.handler->HasSynced();
  });
}

}  // namespace flyball::controllers
