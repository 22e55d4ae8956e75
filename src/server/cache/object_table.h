// ObjectTable: the current objects of one resource in key order, with indexes for the selectors that are
// used.
//
// The order is that of the keys "namespace/name", so a namespace is a range. A selector that demands one
// value of a label or field (spec.nodeName=n1, app=web) and is used more than once on a table that is not
// small gets an index; of those the ones used least recently go when there are too many. So whatever a
// cluster's clients select by most is indexed, and nothing else costs memory.
//
// Thread-compatible: the owner guards it with a lock. A Slice may be read without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/values/leaf_map.h"
#include "server/cache/object_filter.h"

namespace flyball::server {

// An object's place in the order of keys, without a string being made for it.
struct ObjectKey {
  std::string_view namespace_name, name;  // namespace_name is empty for cluster-wide resources

  // From "namespace/name", or "name" if the resource is not namespaced. Refers to `key`.
  static ObjectKey Parse(std::string_view key, bool namespaced);
  static ObjectKey Of(const StoredObject& object) { return {object.namespace_name(), object.name()}; }
  // As the bytes of "namespace/name" compare.
  friend bool operator<(const ObjectKey& a, const ObjectKey& b);
};

struct ObjectOrder {
  using Key = ObjectKey;
  Key KeyOf(const ObjectPtr& object) const { return Key::Of(*object); }
  bool Less(const Key& a, const Key& b) const { return a < b; }
};

// By the value of one label or field, then by key.
struct SelectorOrder {
  struct Key {
    std::string_view value;
    ObjectKey object;
  };
  Key KeyOf(const ObjectPtr& object) const {
    return {ValueOf(*object, selector).value_or(std::string_view()), ObjectKey::Of(*object)};
  }
  bool Less(const Key& a, const Key& b) const {
    return a.value != b.value ? a.value < b.value : a.object < b.object;
  }

  SelectorTerm selector;
};

class ObjectTable {
 public:
  // Indexes a table may have, and the size below which looking at every object is cheap enough.
  static constexpr std::size_t kMaxIndexes = 8;
  static constexpr std::size_t kMinObjectsForIndex = 256;

  explicit ObjectTable(bool namespaced) : namespaced_(namespaced) {}

  // Null if there is none.
  ObjectPtr Find(std::string_view key) const;
  // Both return what was there before, or null.
  ObjectPtr Put(ObjectPtr object);
  ObjectPtr Erase(std::string_view key);
  std::size_t size() const { return objects_.size(); }

  // Objects among which are all that the filter accepts, in key order, from the key `start` on; consistent
  // and readable without the lock. limit 0: all. If the filter is not selective they are just those.
  class Candidates {
   public:
    // visit(object) -> bool: false stops.
    template <typename Visit>
    void ForEach(Visit&& visit) const {
      by_key_.ForEach(visit);
      by_value_.ForEach(visit);
    }
    std::size_t size() const { return by_key_.size() + by_value_.size(); }
    std::size_t remaining() const { return by_key_.remaining(); }

   private:
    friend class ObjectTable;
    // One of them is empty.
    LeafMap<ObjectPtr, ObjectOrder>::Slice by_key_;
    LeafMap<ObjectPtr, SelectorOrder>::Slice by_value_;
  };
  // May make an index.
  Candidates Select(const ObjectFilter& filter, std::string_view start = {}, std::size_t limit = 0);

  bool namespaced() const { return namespaced_; }
  std::size_t indexes() const;

 private:
  // A selector that was used, with its index once that was often enough.
  struct Selector {
    SelectorTerm term;
    std::uint64_t uses = 0;
    std::uint64_t last_use = 0;
    std::unique_ptr<LeafMap<ObjectPtr, SelectorOrder>> index;
  };
  Selector& Use(const SelectorTerm& term);
  void BuildIndex(Selector& selector);
  // The index to read for the filter, made if it is time; null: none.
  const Selector* IndexFor(const std::vector<SelectorTerm>& terms, SelectorTerm* chosen);

  const bool namespaced_;
  LeafMap<ObjectPtr, ObjectOrder> objects_;
  std::vector<Selector> selectors_;
  std::uint64_t clock_ = 0;
};

}  // namespace flyball::server
