#include "informer/shared_informer.h"

#include <algorithm>
#include <utility>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "informer/handler_queue.h"

namespace flyball {

bool VersionAtLeast(std::string_view have, std::string_view want) {
  const auto strip = [](std::string_view v) {
    while (v.size() > 1 && v.front() == '0') v.remove_prefix(1);
    return v;
  };
  have = strip(have);
  want = strip(want);
  return have.size() != want.size() ? have.size() > want.size() : have >= want;
}

// Shared with running closures. Members not guarded by mu belong to the strand.
struct InformerCore::State : std::enable_shared_from_this<State> {
  State(Client c, const ObjectType& t, InformerOptions o)
      : client(std::move(c)),
        type(t),
        options(std::move(o)),
        store(std::make_shared<ObjectStore>(t)),
        strand(client.runtime().executor),
        queue([this] { ScheduleProcessing(); }) {}

  void ScheduleProcessing() {
    strand.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ProcessBatch();
    });
  }

  void ProcessBatch() {
    std::vector<Delta> batch = queue.TakeBatch();
    if (batch.empty()) return;
    std::vector<Note> notes, resyncs;
    std::string version;
    for (Delta& delta : batch) Apply(delta, &notes, &resyncs, &version);
    Distribute(std::move(notes), std::move(resyncs));
    queue.Processed();
    AfterBatch(std::move(version));
    if (queue.size() > 0) ScheduleProcessing();
    if (queue.size() < DeltaQueue::kHighWater) reflector->ResumeReading();
  }

  // Updates the store first, then notifies handlers.
  void Apply(Delta& delta, std::vector<Note>* notes, std::vector<Note>* resyncs, std::string* version) {
    using Type = Note::Type;
    switch (delta.type) {
      case DeltaType::kAdded:
      case DeltaType::kUpdated: {
        *version = type.meta(delta.object.get()).resource_version;
        ObjectPtr old = store->Put(delta.key, delta.object);
        notes->push_back(MakeNote(std::move(old), std::move(delta.object), false));
        return;
      }
      case DeltaType::kDeleted: {
        *version = type.meta(delta.object.get()).resource_version;
        if (store->Remove(delta.key))
          notes->push_back({Type::kDelete, nullptr, std::move(delta.object), false});
        return;
      }
      case DeltaType::kReplaced:
        return ApplyReplace(delta, notes, version);
      case DeltaType::kSync:
        if (store->Get(delta.key) == delta.object)
          resyncs->push_back({Type::kUpdate, delta.object, delta.object, false});
        return;
      case DeltaType::kBookmark:
        *version = delta.resource_version;
        return;
    }
  }

  void ApplyReplace(Delta& delta, std::vector<Note>* notes, std::string* version) {
    *version = delta.resource_version;
    auto replaced = store->Replace(delta.items);
    const bool initial = !HasSynced();
    notes->reserve(delta.items.size() + replaced.removed.size());
    for (auto& item : replaced.removed)
      notes->push_back({Note::Type::kDelete, nullptr, std::move(item.object), true});
    for (std::size_t i = 0; i < delta.items.size(); ++i) {
      ObjectPtr& old = replaced.previous[i];
      // Unchanged since before the break: no notification.
      if (old && SameVersion(old, delta.items[i].object)) continue;
      notes->push_back(MakeNote(std::move(old), std::move(delta.items[i].object), initial));
    }
  }

  bool SameVersion(const ObjectPtr& a, const ObjectPtr& b) const {
    const MetaView x = type.meta(a.get()), y = type.meta(b.get());
    return !x.resource_version.empty() && x.resource_version == y.resource_version && x.uid == y.uid;
  }

  static Note MakeNote(ObjectPtr old, ObjectPtr object, bool initial) {
    if (old) return {Note::Type::kUpdate, std::move(old), std::move(object), false};
    return {Note::Type::kAdd, nullptr, std::move(object), initial};
  }

  void Distribute(std::vector<Note> notes, std::vector<Note> resyncs) {
    std::erase_if(handlers, [](const auto& handler) { return handler->removed(); });
    const SteadyTime now = client.runtime().clock().Steady();
    for (const auto& handler : handlers) {
      if (!notes.empty()) handler->Push(notes);
      const bool wants =
          !resyncs.empty() && handler->resync() > Duration::zero() && handler->next_resync <= now;
      if (wants) handler->Push(resyncs);
    }
    if (!resyncs.empty()) ScheduleResync(now);
  }

  void AfterBatch(std::string version) {
    std::vector<Closure> due;
    bool newly_synced = false;
    {
      MutexLock lock(mu);
      if (!version.empty()) observed = std::move(version);
      std::erase_if(version_waiters, [&](auto& waiter) FLYBALL_REQUIRES(mu) {
        if (!VersionAtLeast(observed, waiter.first)) return false;
        due.push_back(std::move(waiter.second));
        return true;
      });
      if (!synced && queue.synced()) {
        synced = newly_synced = true;
        for (Closure& fn : sync_waiters) due.push_back(std::move(fn));
        sync_waiters.clear();
      }
    }
    if (newly_synced)
      for (const auto& handler : handlers) handler->Push({{Note::Type::kSynced, nullptr, nullptr, false}});
    for (const Closure& fn : due) fn();
  }

  bool HasSynced() const {
    MutexLock lock(mu);
    return synced;
  }

  void Register(const std::shared_ptr<HandlerQueue>& handler) {
    std::vector<Note> notes;
    for (ObjectPtr& object : store->List())
      notes.push_back({Note::Type::kAdd, nullptr, std::move(object), true});
    if (HasSynced()) notes.push_back({Note::Type::kSynced, nullptr, nullptr, false});
    handlers.push_back(handler);
    handler->Push(std::move(notes));
    if (handler->resync() <= Duration::zero()) return;
    const SteadyTime now = client.runtime().clock().Steady();
    handler->next_resync = now + handler->resync();
    ArmResync(now);
  }

  // --- resync: from the store, for the handlers that asked for it ---

  void ScheduleResync(SteadyTime now) {
    for (const auto& handler : handlers)
      if (handler->resync() > Duration::zero() && handler->next_resync <= now)
        handler->next_resync = now + handler->resync();
    ArmResync(now);
  }

  void ArmResync(SteadyTime now) {
    SteadyTime next = SteadyTime::max();
    for (const auto& handler : handlers)
      if (handler->resync() > Duration::zero()) next = std::min(next, handler->next_resync);
    if (resync_timer != kNoTimer) strand.Cancel(std::exchange(resync_timer, kNoTimer));
    if (next == SteadyTime::max() || stopped) return;
    resync_timer = strand.PostAt(std::max(next, now), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Resync();
    });
  }

  void Resync() {
    resync_timer = kNoTimer;
    auto items = store->Items();
    if (items.empty()) return ScheduleResync(client.runtime().clock().Steady());
    queue.Resync(std::move(items));
  }

  const Client client;
  const ObjectType& type;
  const InformerOptions options;
  const std::shared_ptr<ObjectStore> store;
  Strand strand;
  DeltaQueue queue;
  std::unique_ptr<Reflector> reflector;
  std::vector<std::shared_ptr<HandlerQueue>> handlers;
  TimerId resync_timer = kNoTimer;
  bool stopped = false;

  mutable Mutex mu;
  bool synced FLYBALL_GUARDED_BY(mu) = false;
  std::vector<Closure> sync_waiters FLYBALL_GUARDED_BY(mu);
  std::string observed FLYBALL_GUARDED_BY(mu);
  std::vector<std::pair<std::string, Closure>> version_waiters FLYBALL_GUARDED_BY(mu);
};

std::shared_ptr<InformerCore> InformerCore::Make(Client client, const ObjectType& type,
                                                 InformerOptions options) {
  auto state = std::make_shared<State>(client, type, options);
  state->reflector =
      std::make_unique<Reflector>(std::move(client), type, std::move(options.reflector), state->queue);
  return std::shared_ptr<InformerCore>(new InformerCore(std::move(state)));
}

InformerCore::InformerCore(std::shared_ptr<State> state) : state_(std::move(state)) {}

InformerCore::~InformerCore() {
  Stop();
}

void InformerCore::Start() {
  state_->reflector->Start();
}

void InformerCore::Stop() {
  // The state, and with it the queue, lives until the reflector has released it.
  state_->reflector->Stop([state = state_] {});
  state_->strand.Post([state = state_] {
    state->stopped = true;
    if (state->resync_timer != kNoTimer) state->strand.Cancel(std::exchange(state->resync_timer, kNoTimer));
  });
}

std::shared_ptr<HandlerRegistration> InformerCore::AddHandler(ErasedHandler handler, Duration resync) {
  auto queue = std::make_shared<HandlerQueue>(state_->client.runtime().executor, state_->type,
                                              std::move(handler), resync);
  state_->strand.Post([state = state_, queue] { state->Register(queue); });
  return queue;
}

bool InformerCore::HasSynced() const {
  return state_->HasSynced();
}

void InformerCore::OnSynced(Closure fn) {
  {
    MutexLock lock(state_->mu);
    if (!state_->synced) {
      state_->sync_waiters.push_back(std::move(fn));
      return;
    }
  }
  fn();
}

void InformerCore::WaitForSync() {
  auto done = std::make_shared<Notification<bool>>();
  OnSynced([done] { done->Set(true); });
  done->Wait();
}

std::string InformerCore::resource_version() const {
  MutexLock lock(state_->mu);
  return state_->observed;
}

bool InformerCore::HasReached(std::string_view resource_version) const {
  MutexLock lock(state_->mu);
  return VersionAtLeast(state_->observed, resource_version);
}

std::string InformerCore::VersionOf(std::string_view ns, std::string_view name) const {
  const ObjectPtr object = state_->store->Get(ns, name);
  return object ? std::string(state_->type.meta(object.get()).resource_version) : std::string();
}

void InformerCore::WhenReached(std::string_view resource_version, Closure fn) {
  {
    MutexLock lock(state_->mu);
    if (!VersionAtLeast(state_->observed, resource_version)) {
      state_->version_waiters.emplace_back(std::string(resource_version), std::move(fn));
      return;
    }
  }
  state_->client.runtime().executor.Post(std::move(fn));
}

const std::shared_ptr<ObjectStore>& InformerCore::store() const {
  return state_->store;
}
const KindRef& InformerCore::kind() const {
  return state_->options.reflector.kind;
}
const std::string& InformerCore::ns() const {
  return state_->options.reflector.ns;
}
const Reflector& InformerCore::reflector() const {
  return *state_->reflector;
}

}  // namespace flyball
