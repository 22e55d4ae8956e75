// ControllerBuilder<T>: declares what a controller reconciles and which changes trigger it.
//
//   manager.For<Network>()            // reconcile Networks; run when one changes
//       .Owns<ConfigMap>()            // ... or when a ConfigMap controlled by one changes
//       .Watches<Node>(map_fn)        // ... or for the keys that map_fn(const Node&) returns
//       .Uses<Secret>()               // caches Secrets for ctx.lister<Secret>(), triggers nothing
//       .Workers(2)
//       .Reconcile(fn);               // fn(const T&, Context&) or fn(const ObjectKey&, Context&)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/custom/crd_from_struct.h"
#include "controller/manager.h"
#include "controller/worker/controller.h"

namespace flyball {

// Which changes trigger a reconcile. Unset: all. Resyncs pass through the update predicate too.
template <typename T>
struct Predicates {
  std::function<bool(const T& object)> create{};
  std::function<bool(const T& old_object, const T& object)> update{};
  std::function<bool(const T& object)> remove{};
};

// Only updates that change metadata.generation, that is the spec; not changes of status, labels or
// annotations.
template <ApiObject T>
Predicates<T> GenerationChanged() {
  return {.create = nullptr,
          .update = [](const T& a, const T& b) { return a.metadata.generation != b.metadata.generation; },
          .remove = nullptr};
}

// Thread-compatible: used by the thread that sets up the program.
template <ApiObject T>
class ControllerBuilder {
 public:
  explicit ControllerBuilder(Manager& manager) : manager_(manager) {
    options_.name = DefaultName(KindTraits<T>::kind);
    options_.kind = KindTraits<T>::kind;
  }

  ControllerBuilder& Named(std::string name) { return options_.name = std::move(name), *this; }
  // The source that its events name, if it is not the controller's name.
  ControllerBuilder& EventSource(std::string name) { return options_.event_source = std::move(name), *this; }
  ControllerBuilder& Workers(int n) { return options_.workers = n, *this; }
  ControllerBuilder& MaxRetries(int n) { return options_.max_retries = n, *this; }
  ControllerBuilder& Timeout(Duration d) { return options_.timeout = d, *this; }
  // When a reconcile counts as stuck, and when the queue counts as behind (see worker_supervisor.h).
  ControllerBuilder& StuckAfter(Duration d) { return options_.stuck_after = d, *this; }
  ControllerBuilder& BehindAfter(Duration d) { return options_.behind_after = d, *this; }
  ControllerBuilder& Limits(const RateLimits& limits) { return options_.limits = limits, *this; }
  ControllerBuilder& Resync(Duration d) { return resync_ = d, *this; }
  // Runs on every replica of the program, leader or not.
  ControllerBuilder& WithoutLeader() { return options_.needs_leader = false, *this; }
  ControllerBuilder& When(Predicates<T> predicates) { return predicates_ = std::move(predicates), *this; }
  // Called instead of the reconciler when the object is gone from the cache. Not needed for a reconciler that
  // takes the key, which is called in both cases.
  ControllerBuilder& OnGone(Reconciler fn) { return gone_ = std::move(fn), *this; }

  template <ApiObject U>
  ControllerBuilder& Owns(Predicates<U> predicates = {}) {
    return Watches<U>(&OwnerKeys<U>, std::move(predicates));
  }
  // map(const U&) returns the keys of the Ts to reconcile. On an update it is called for the old and the new
  // object.
  template <ApiObject U>
  ControllerBuilder& Watches(std::function<std::vector<ObjectKey>(const U&)> map,
                             Predicates<U> predicates = {}) {
    sources_.push_back([map = std::move(map), predicates = std::move(predicates)](
                           Manager& manager, const std::shared_ptr<Controller>& controller) {
      const auto informer = manager.informers().template For<U>();
      controller->DependOn(informer.AddHandler(Handler<U>(controller, map, predicates)));
    });
    return *this;
  }
  template <ApiObject U>
  ControllerBuilder& Uses() {
    sources_.push_back([](Manager& manager, const std::shared_ptr<Controller>& controller) {
      controller->DependOn(manager.informers().template For<U>().shared_core());
    });
    return *this;
  }
  // fn(const U&) -> std::vector<std::string>; read with ctx.lister<U>().ByIndex(name, value).
  template <ApiObject U, typename Fn>
  ControllerBuilder& Index(std::string name, Fn fn) {
    if (Status s = manager_.informers().template For<U>().AddIndex(std::move(name), std::move(fn)); !s)
      status_ = s;
    return *this;
  }

  // Creates the controller. Returns an error if the description is not consistent.
  template <typename Fn>
  Status Reconcile(Fn fn) {
    return Build(std::move(fn), nullptr);
  }
  // The same, and returns the controller, for callers that enqueue keys themselves.
  template <typename Fn>
  Status Reconcile(Fn fn, std::shared_ptr<Controller>* out) {
    return Build(std::move(fn), out);
  }

 private:
  using Source = std::function<void(Manager&, const std::shared_ptr<Controller>&)>;

  static std::string DefaultName(std::string_view kind) {
    std::string name(kind);
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return name;
  }

  template <typename U>
  static std::vector<ObjectKey> OwnKey(const U& object) {
    const MetaView meta = MetaOf(object);
    return {ObjectKey{std::string(meta.ns), std::string(meta.name)}};
  }
  template <typename U>
  static std::vector<ObjectKey> OwnerKeys(const U& object) {
    const auto owner = ControllerOf(object);
    if (!owner || owner->kind != KindTraits<T>::kind) return {};
    if (SplitApiVersion(owner->api_version).first != KindTraits<T>::group) return {};
    const std::string_view ns = KindTraits<T>::namespaced ? MetaOf(object).ns : std::string_view();
    return {ObjectKey{std::string(ns), std::string(owner->name)}};
  }

  // "Pod default/web-1 updated"
  template <typename U>
  static std::string CauseOf(const U& object, const char* what) {
    const MetaView meta = MetaOf(object);
    const ObjectKey key{std::string(meta.ns), std::string(meta.name)};
    return std::string(KindTraits<U>::kind) + " " + key.ToString() + " " + what;
  }

  template <typename U, typename Map>
  static EventHandler<U> Handler(const std::shared_ptr<Controller>& controller, Map map, Predicates<U> p) {
    using Ptr = std::shared_ptr<const U>;
    const std::weak_ptr<Controller> weak = controller;
    const auto enqueue = [weak, map](const U& object, Priority priority, const char* what) {
      const auto target = weak.lock();
      if (!target) return;
      for (const ObjectKey& key : map(object)) {
        if (ReconcileLog* log = target->log()) log->Woken(target->name(), key, CauseOf(object, what));
        target->Enqueue(key, priority);
      }
    };
    EventHandler<U> handler;
    handler.on_add = [=](const Ptr& object, bool initial) {
      if (!p.create || p.create(*object))
        enqueue(*object, initial ? Priority::kLow : Priority::kNormal, initial ? "listed" : "added");
    };
    handler.on_update = [=](const Ptr& old_object, const Ptr& object) {
      if (p.update && !p.update(*old_object, *object)) return;
      const bool resync = old_object == object;
      if (!resync) enqueue(*old_object, Priority::kNormal, "updated");
      enqueue(*object, resync ? Priority::kLow : Priority::kNormal, resync ? "resynced" : "updated");
    };
    handler.on_delete = [=](const Ptr& object, bool) {
      if (!p.remove || p.remove(*object)) enqueue(*object, Priority::kNormal, "deleted");
    };
    return handler;
  }

  template <typename Fn>
  Status Build(Fn fn, std::shared_ptr<Controller>* out) {
    if (!status_) return status_;
    if constexpr (IsCustomResource<T>) manager_.AddCrd(&CustomResourceDefinitionOf<T>);
    auto informer = manager_.informers().template For<T>();
    const auto controller = manager_.AddController(options_, Adapt(std::move(fn), informer.lister()));
    controller->DependOn(informer.AddHandler(Handler<T>(controller, &OwnKey<T>, predicates_), resync_));
    for (const Source& source : sources_) source(manager_, controller);
    if (out) *out = controller;
    return {};
  }

  template <typename Fn>
  Reconciler Adapt(Fn fn, Lister<T> lister) {
    if constexpr (std::is_invocable_v<Fn&, const T&, Context&>) {
      return
          [fn = std::move(fn), gone = gone_, lister](const ObjectKey& key, Context& ctx) -> Result<Action> {
            const std::shared_ptr<const T> object = lister.Get(key);
            if (object) return fn(*object, ctx);
            return gone ? gone(key, ctx) : Result<Action>(Action{});
          };
    } else {
      static_assert(std::is_invocable_v<Fn&, const ObjectKey&, Context&>,
                    "a reconciler takes (const T&, Context&) or (const ObjectKey&, Context&)");
      return Reconciler(std::move(fn));
    }
  }

  Manager& manager_;
  ControllerOptions options_;
  Duration resync_{};
  Predicates<T> predicates_;
  Reconciler gone_;
  std::vector<Source> sources_;
  Status status_;
};

template <ApiObject T>
ControllerBuilder<T> Manager::For() {
  return ControllerBuilder<T>(*this);
}

}  // namespace flyball
