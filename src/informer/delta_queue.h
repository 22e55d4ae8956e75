// DeltaQueue: changes on their way from the reflector to the store, in one global order (upstream:
// client-go's in-order queue, RealFIFO).
//
// Guarantees: changes come out in the order they went in; a Replace comes out as one step; nothing is lost or
// merged, except that a Delete of a key neither stored nor queued is dropped. Synced once everything up to
// and including the first Replace has been taken and reported processed.
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
  // kReplaced: the whole content. Then key and object are empty.
  std::vector<ObjectStore::Item> items;
  std::string resource_version;  // kReplaced and kBookmark
};

// Thread-safe.
class DeltaQueue {
 public:
  // Above this many queued changes the producer should stop reading until the queue has drained: the bound
  // of the buffer between network and store.
  static constexpr std::size_t kHighWater = 10000;
  // Changes taken at once.
  static constexpr std::size_t kBatch = 1000;

  // `ready` is called, outside any lock, when the queue becomes not empty.
  explicit DeltaQueue(Closure ready) : ready_(std::move(ready)) {}

  void Add(std::string key, ObjectPtr object);
  void Update(std::string key, ObjectPtr object);
  void Delete(std::string key, ObjectPtr object);
  void Replace(std::vector<ObjectStore::Item> items, std::string resource_version);
  void Bookmark(std::string resource_version);
  // A Sync for each, except for keys that have changes queued already.
  void Resync(std::vector<ObjectStore::Item> items);

  // Up to kBatch changes; a Replace always comes alone. Empty if there is nothing.
  std::vector<Delta> TakeBatch();
  // What was taken has reached the store.
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
