// HandlerQueue: queues the notifications for one handler of an informer and delivers them one at a time on
// its own strand, so that a slow handler delays nobody else.
//
// Bound: beyond kHandlerBuffer notifications, those of the same object are merged into what a handler that
// was away for a while needs to see. Add then Update becomes an Add of the newer object; Update then Update
// one Update; Update then Delete a Delete; Delete then Add an Update; Add then Delete nothing.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "informer/shared_informer.h"

namespace flyball {

struct Note {
  enum class Type { kAdd, kUpdate, kDelete, kSynced, kNothing };
  Type type = Type::kAdd;
  ObjectPtr old_object, object;  // object is the last state for kDelete
  bool flag = false;             // kAdd: part of the initial list; kDelete: final state unknown
};

// Thread-safe. Must be owned by a shared_ptr.
class HandlerQueue final : public HandlerRegistration, public std::enable_shared_from_this<HandlerQueue> {
 public:
  HandlerQueue(Executor& executor, const ObjectType& type, ErasedHandler handler, Duration resync)
      : type_(type), handler_(std::move(handler)), resync_(resync), strand_(executor) {}

  // In the order of delivery. The informer calls it, one call at a time.
  void Push(std::vector<Note> notes);

  bool HasSynced() const override;
  void OnSynced(Closure fn) override;
  void Remove() override;
  std::size_t backlog() const override;

  bool removed() const { return removed_; }
  Duration resync() const { return resync_; }
  // When its next resync is due; owned by the informer's strand.
  SteadyTime next_resync{};

 private:
  // Notifications delivered in one turn on the executor.
  static constexpr std::size_t kTurn = 256;

  void PushLocked(Note note) FLYBALL_REQUIRES(mu_);
  // Returns true if the note was merged into a waiting one.
  bool Merge(const Note& note) FLYBALL_REQUIRES(mu_);
  void BuildIndex() FLYBALL_REQUIRES(mu_);
  void Schedule();
  void DeliverTurn();
  void Deliver(const Note& note);
  void MarkSynced();

  const ObjectType& type_;
  const ErasedHandler handler_;
  const Duration resync_;
  Strand strand_;
  std::atomic<bool> removed_ = false;

  mutable Mutex mu_;
  std::deque<Note> notes_ FLYBALL_GUARDED_BY(mu_);
  std::uint64_t delivered_ FLYBALL_GUARDED_BY(mu_) = 0;  // so that positions in the index stay valid
  // While merging: the position (counted from the very first note) of the last note of each object.
  std::unordered_map<std::string, std::uint64_t> index_ FLYBALL_GUARDED_BY(mu_);
  bool merging_ FLYBALL_GUARDED_BY(mu_) = false;
  bool scheduled_ FLYBALL_GUARDED_BY(mu_) = false;
  bool synced_ FLYBALL_GUARDED_BY(mu_) = false;
  std::vector<Closure> on_synced_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
