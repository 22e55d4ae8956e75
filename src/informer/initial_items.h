// InitialItems: collects the objects of a streaming list. Objects arrive one by one and may change or
// disappear again before the list is complete; all of them are needed at its end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/values/hash.h"
#include "base/values/hash_index.h"
#include "informer/object_store.h"

namespace flyball {

// Thread-compatible.
class InitialItems {
 public:
  void Put(std::string key, ObjectPtr object) {
    const auto hash = static_cast<std::uint32_t>(HashText(key));
    const std::uint32_t known = Find(key, hash);
    if (known != HashIndex::kNone) {
      items_[known].object = std::move(object);
      return;
    }
    index_.Insert(hash, static_cast<std::uint32_t>(items_.size()));
    items_.push_back({std::move(key), std::move(object)});
  }
  void Remove(const std::string& key) {
    const std::uint32_t known = Find(key, static_cast<std::uint32_t>(HashText(key)));
    if (known != HashIndex::kNone) items_[known].object = nullptr;
  }
  // Returns the objects in the order in which they first arrived, and leaves nothing behind.
  std::vector<ObjectStore::Item> Take() {
    std::erase_if(items_, [](const ObjectStore::Item& item) { return !item.object; });
    index_ = HashIndex();
    return std::exchange(items_, {});
  }
  void Clear() { Take(); }

 private:
  std::uint32_t Find(const std::string& key, std::uint32_t hash) const {
    return index_.Find(hash, [&](std::uint32_t n) { return items_[n].key == key; });
  }

  std::vector<ObjectStore::Item> items_;  // without an object: deleted again
  HashIndex index_;
};

}  // namespace flyball
