// DeltaQueue: passes changes from the reflector to the store in one global order (upstream: client-go's
// in-order queue, RealFIFO).
//
// Guarantees: changes leave in the order in which they entered. A Replace leaves as one step. Nothing is lost
// or merged, except that a Delete of a key that is neither stored nor queued is dropped. The queue is synced
// once everything up to and including the first Replace has been taken and reported as processed.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/unique_function.h"
#include "informer/object_store.h"

namespace flyball {

enum class DeltaType { kAdded, kUpdated, kDeleted, kReplaced, kSync, kBookmark };

struct Delta {
  DeltaType type = DeltaType::kAdded;
  std::string key;
  ObjectPtr object;  // the last known state for kDeleted
  // kReplaced: the whole content. Key and object are then empty.
  std::vector<ObjectStore::Item> items;
  std::string resource_version;  // kReplaced and kBookmark
};

// Thread-safe.
class DeltaQueue {
 public:
  // Above this many queued changes, the producer should stop reading until the queue has drained. This bounds
  // the buffer between network and store.
  static constexpr std::size_t kHighWater = 10000;
  // The most changes taken at once.
  static constexpr std::size_t kBatch = 1000;

  // `ready` is called, outside any lock, when the queue becomes non-empty.
  explicit DeltaQueue(Closure ready) : ready_(std::move(ready)) {}

  void Add(std::string key, ObjectPtr object);
  void Update(std::string key, ObjectPtr object);
  void Delete(std::string key, ObjectPtr object);
  void Replace(std::vector<ObjectStore::Item> items, std::string resource_version);
  void Bookmark(std::string resource_version);
  // Adds a Sync for each item, except for keys that already have queued changes.
  void Resync(std::vector<ObjectStore::Item> items);

  // Returns up to kBatch changes; a Replace always comes alone. Empty if the queue is empty.
  std::vector<Delta> TakeBatch();
  // Call when the taken changes have reached the store.
  void Processed();

  bool synced() const;
  std::size_t size() const;

 private:
  void Push(Delta delta);

  const Closure ready_;
  mutable Mutex mu_;
  std::deque<Delta> deltas_ FLYBALL_GUARDED_BY(mu_);
  bool taken_first_ FLYBALL_GUARDED_BY(mu_) = false;  // the first Replace has been taken
  bool synced_ FLYBALL_GUARDED_BY(mu_) = false;       // ... and processed
};

}  // namespace flyball
