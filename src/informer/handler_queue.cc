#include "informer/handler_queue.h"

#include <exception>
#include <utility>

#include "base/observe/log.h"

namespace flyball {
namespace {

bool CarriesObject(const Note& note) {
  return note.type != Note::Type::kSynced && note.type != Note::Type::kNothing;
}

// `waiting` becomes what both mean together; see the table in the header.
void MergeInto(Note& waiting, const Note& note) {
  using Type = Note::Type;
  switch (waiting.type) {
    case Type::kAdd:
      if (note.type == Type::kDelete)
        waiting = {Type::kNothing, nullptr, nullptr, false};
      else
        waiting.object = note.object;
      return;
    case Type::kUpdate:
      if (note.type == Type::kDelete)
        waiting = note;
      else
        waiting.object = note.object;
      return;
    case Type::kDelete:
      if (note.type == Type::kDelete)
        waiting = note;
      else
        waiting = {Type::kUpdate, waiting.object, note.object, false};
      return;
    case Type::kSynced:
    case Type::kNothing:
      return;
  }
}

}  // namespace

void HandlerQueue::Push(std::vector<Note> notes) {
  {
    MutexLock lock(mu_);
    for (Note& note : notes) PushLocked(std::move(note));
    if (notes_.empty() || std::exchange(scheduled_, true)) return;
  }
  Schedule();
}

void HandlerQueue::PushLocked(Note note) {
  if (notes_.size() >= kHandlerBuffer && !merging_) BuildIndex();
  if (merging_ && CarriesObject(note)) {
    if (Merge(note)) return;
    index_[KeyOf(type_.meta(note.object.get()))] = delivered_ + notes_.size();
  }
  notes_.push_back(std::move(note));
}

bool HandlerQueue::Merge(const Note& note) {
  const auto it = index_.find(KeyOf(type_.meta(note.object.get())));
  if (it == index_.end() || it->second < delivered_) return false;
  Note& waiting = notes_[it->second - delivered_];
  if (waiting.type == Note::Type::kNothing) return false;
  MergeInto(waiting, note);
  return true;
}

void HandlerQueue::BuildIndex() {
  merging_ = true;
  index_.clear();
  for (std::size_t i = 0; i < notes_.size(); ++i)
    if (CarriesObject(notes_[i])) index_[KeyOf(type_.meta(notes_[i].object.get()))] = delivered_ + i;
}

void HandlerQueue::Schedule() {
  strand_.Post([self = shared_from_this()] { self->DeliverTurn(); });
}

void HandlerQueue::DeliverTurn() {
  for (std::size_t i = 0; i < kTurn; ++i) {
    Note note;
    {
      MutexLock lock(mu_);
      if (notes_.empty()) {
        scheduled_ = merging_ = false;
        index_.clear();
        return;
      }
      note = std::move(notes_.front());
      notes_.pop_front();
      ++delivered_;
    }
    Deliver(note);
  }
  Schedule();
}

void HandlerQueue::Deliver(const Note& note) {
  if (note.type == Note::Type::kSynced) return MarkSynced();
  if (removed_) return;
  try {
    switch (note.type) {
      case Note::Type::kAdd:
        if (handler_.on_add) handler_.on_add(note.object, note.flag);
        return;
      case Note::Type::kUpdate:
        if (handler_.on_update) handler_.on_update(note.old_object, note.object);
        return;
      case Note::Type::kDelete:
        if (handler_.on_delete) handler_.on_delete(note.object, note.flag);
        return;
      case Note::Type::kSynced:
      case Note::Type::kNothing:
        return;
    }
  } catch (const std::exception& e) {
    log::Error("event handler threw", {{"what", e.what()}});
  } catch (...) {
    log::Error("event handler threw something unknown");
  }
}

void HandlerQueue::MarkSynced() {
  std::vector<Closure> waiters;
  {
    MutexLock lock(mu_);
    synced_ = true;
    waiters = std::move(on_synced_);
    on_synced_.clear();
  }
  for (const Closure& fn : waiters) fn();
}

bool HandlerQueue::HasSynced() const {
  MutexLock lock(mu_);
  return synced_;
}

void HandlerQueue::OnSynced(Closure fn) {
  {
    MutexLock lock(mu_);
    if (!synced_) {
      on_synced_.push_back(std::move(fn));
      return;
    }
  }
  fn();
}

void HandlerQueue::Remove() {
  removed_ = true;
}

std::size_t HandlerQueue::backlog() const {
  MutexLock lock(mu_);
  return notes_.size();
}

}  // namespace flyball
