// What the store's tests share: blocking calls, a recording sink, a folder that goes away.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "store/store.h"

namespace flyball::store {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "flyball-store-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Result<CommitOutcome> CommitNow(Store& store, Transaction transaction) {
  auto done = std::make_shared<Notification<Result<CommitOutcome>>>();
  store.Commit(std::move(transaction),
               [done](Result<CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  return done->Wait();
}

inline Operation Put(std::string key, std::string value, Precondition precondition = {}, Duration ttl = {}) {
  return {std::move(key), MakeBytes(std::move(value)), precondition, ttl};
}
inline Operation Delete(std::string key, Precondition precondition = {}) {
  return {std::move(key), nullptr, precondition, {}};
}

inline Result<CommitOutcome> PutNow(Store& store, std::string key, std::string value,
                                    Precondition precondition = {}, Duration ttl = {}) {
  Transaction transaction;
  transaction.push_back(Put(std::move(key), std::move(value), precondition, ttl));
  return CommitNow(store, std::move(transaction));
}
inline Result<CommitOutcome> DeleteNow(Store& store, std::string key, Precondition precondition = {}) {
  Transaction transaction;
  transaction.push_back(Delete(std::move(key), precondition));
  return CommitNow(store, std::move(transaction));
}

// Keeps what it is told and lets a test wait for it. Thread-safe.
class RecordingSink final : public WatchSink {
 public:
  void OnEvents(const std::vector<Event>& events) override {
    MutexLock lock(mu_);
    events_.insert(events_.end(), events.begin(), events.end());
    changed_.NotifyAll();
  }
  void OnProgress(Revision revision) override {
    MutexLock lock(mu_);
    progress_ = revision;
    changed_.NotifyAll();
  }
  void OnError(const Error& error) override {
    MutexLock lock(mu_);
    error_ = error;
    changed_.NotifyAll();
  }

  // Blocks until an event or a progress mark of this revision or a later one has come, or an error.
  void WaitFor(Revision revision) {
    MutexLock lock(mu_);
    while (!error_ && progress_ < revision && (events_.empty() || events_.back().kv.mod_revision < revision))
      changed_.Wait(mu_);
  }
  void WaitForEvents(std::size_t n) {
    MutexLock lock(mu_);
    while (!error_ && events_.size() < n) changed_.Wait(mu_);
  }
  std::vector<Event> events() {
    MutexLock lock(mu_);
    return events_;
  }
  std::optional<Error> WaitForError() {
    MutexLock lock(mu_);
    while (!error_) changed_.Wait(mu_);
    return error_;
  }
  std::optional<Error> error() {
    MutexLock lock(mu_);
    return error_;
  }
  Revision progress() {
    MutexLock lock(mu_);
    return progress_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<Event> events_ FLYBALL_GUARDED_BY(mu_);
  std::optional<Error> error_ FLYBALL_GUARDED_BY(mu_);
  Revision progress_ FLYBALL_GUARDED_BY(mu_) = 0;
};

}  // namespace flyball::store
