#include "informer/delta_queue.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace flyball {

void DeltaQueue::Push(Delta delta) {
  bool was_empty;
  {
    MutexLock lock(mu_);
    was_empty = deltas_.empty();
    deltas_.push_back(std::move(delta));
  }
  if (was_empty && ready_) ready_();
}

void DeltaQueue::Add(std::string key, ObjectPtr object) {
  Push({DeltaType::kAdded, std::move(key), std::move(object), {}, {}});
}

void DeltaQueue::Update(std::string key, ObjectPtr object) {
  Push({DeltaType::kUpdated, std::move(key), std::move(object), {}, {}});
}

void DeltaQueue::Delete(std::string key, ObjectPtr object) {
  Push({DeltaType::kDeleted, std::move(key), std::move(object), {}, {}});
}

void DeltaQueue::Replace(std::vector<ObjectStore::Item> items, std::string resource_version) {
  Push({DeltaType::kReplaced, {}, nullptr, std::move(items), std::move(resource_version)});
}

void DeltaQueue::Bookmark(std::string resource_version) {
  Push({DeltaType::kBookmark, {}, nullptr, {}, std::move(resource_version)});
}

void DeltaQueue::Resync(std::vector<ObjectStore::Item> items) {
  bool was_empty;
  {
    MutexLock lock(mu_);
    was_empty = deltas_.empty();
    std::unordered_set<std::string> pending;
    for (const Delta& delta : deltas_) {
      if (!delta.key.empty()) pending.insert(delta.key);
      for (const auto& item : delta.items) pending.insert(item.key);
    }
    for (auto& item : items)
      if (!pending.contains(item.key))
        deltas_.push_back({DeltaType::kSync, std::move(item.key), std::move(item.object), {}, {}});
    was_empty = was_empty && !deltas_.empty();
  }
  if (was_empty && ready_) ready_();
}

std::vector<Delta> DeltaQueue::TakeBatch() {
  std::vector<Delta> batch;
  MutexLock lock(mu_);
  if (deltas_.empty()) return batch;
  const auto is_replace = [](const Delta& delta) { return delta.type == DeltaType::kReplaced; };
  const auto limit = deltas_.begin() + static_cast<std::ptrdiff_t>(std::min(deltas_.size(), kBatch));
  auto end = std::find_if(deltas_.begin(), limit, is_replace);
  if (end == deltas_.begin()) {
    taken_first_ = true;
    ++end;
  }
  batch.assign(std::make_move_iterator(deltas_.begin()), std::make_move_iterator(end));
  deltas_.erase(deltas_.begin(), end);
  return batch;
}

void DeltaQueue::Processed() {
  MutexLock lock(mu_);
  synced_ = taken_first_;
}

bool DeltaQueue::synced() const {
  MutexLock lock(mu_);
  return synced_;
}

std::size_t DeltaQueue::size() const {
  MutexLock lock(mu_);
  return deltas_.size();
}

}  // namespace flyball
