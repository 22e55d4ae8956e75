// LeafMap: a sorted map with cheap, consistent snapshots.
//
// Entries are in sorted leaves of up to kLeafEntries, below one sorted array of leaves. A range reader takes
// references to the leaves it needs and reads them without a lock. A leaf that was handed out never changes
// again (the next write copies it first), so readers and the writer do not wait for each other.
//
// `Order` defines the key of an entry and how keys compare:
//   using Key = ...;                                  // cheap to copy, e.g. a std::string_view
//   Key KeyOf(const Entry&) const;                    // may refer to the entry
//   bool Less(const Key&, const Key&) const;
//
// Thread-compatible: the owner guards it with a lock. A Slice may be used on any thread without the lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace flyball {

template <typename Entry, typename Order>
class LeafMap {
 public:
  using Key = typename Order::Key;

  // Small enough that copying a leaf, or shifting it for an insert, takes well under a microsecond.
  static constexpr std::size_t kLeafEntries = 64;

  struct Leaf {
    std::vector<Entry> entries;
    mutable bool handed_out = false;  // guarded by the owner's lock
  };

  // A run of consecutive entries at the time it was taken.
  class Slice {
   public:
    std::size_t size() const { return size_; }
    // How many more entries there were beyond the limit.
    std::size_t remaining() const { return remaining_; }

    // Calls visit(entry) in order. If visit returns a bool, false stops the iteration.
    template <typename Visit>
    void ForEach(Visit&& visit) const {
      std::size_t left = size_, at = first_;
      for (const auto& leaf : leaves_) {
        for (; at < leaf->entries.size() && left > 0; ++at, --left) {
          if constexpr (std::is_void_v<std::invoke_result_t<Visit&, const Entry&>>)
            visit(leaf->entries[at]);
          else if (!visit(leaf->entries[at]))
            return;
        }
        at = 0;
      }
    }

   private:
    friend class LeafMap;
    std::vector<std::shared_ptr<const Leaf>> leaves_;
    std::size_t first_ = 0, size_ = 0, remaining_ = 0;
  };

  explicit LeafMap(Order order = {}) : order_(std::move(order)) {}

  // Valid until the next change.
  const Entry* Find(const Key& key) const {
    const Position at = LowerBound(key);
    return Matches(at, key) ? &leaves_[at.leaf]->entries[at.entry] : nullptr;
  }

  // Inserts, or replaces the entry with the same key.
  void Put(Entry entry) {
    const Key key = order_.KeyOf(entry);
    Position at = LowerBound(key);
    if (Matches(at, key)) {
      Writable(at.leaf).entries[at.entry] = std::move(entry);
      return;
    }
    if (leaves_.empty()) leaves_.push_back(NewLeaf());
    if (leaves_[at.leaf]->entries.size() == kLeafEntries) at = Split(at);
    auto& entries = Writable(at.leaf).entries;
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(at.entry), std::move(entry));
    ++size_;
  }

  // Returns false if there is no such key.
  bool Erase(const Key& key) {
    const Position at = LowerBound(key);
    if (!Matches(at, key)) return false;
    auto& entries = Writable(at.leaf).entries;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at.entry));
    --size_;
    MergeSmall(at.leaf);
    return true;
  }

  std::size_t size() const { return size_; }
  // The number of keys from `from` (inclusive) to `to` (exclusive; nullopt: the end).
  std::size_t Count(const Key& from, const std::optional<Key>& to) const {
    return Distance(Begin(from), End(to));
  }
  // Returns the same range as a slice of at most `limit` entries (0: all).
  Slice Read(const Key& from, const std::optional<Key>& to, std::size_t limit) const {
    Slice slice;
    const Position begin = Begin(from);
    const std::size_t total = Distance(begin, End(to));
    slice.first_ = begin.entry;
    slice.size_ = limit == 0 ? total : std::min(limit, total);
    slice.remaining_ = total - slice.size_;
    std::size_t covered = 0;
    for (std::size_t i = begin.leaf; covered < slice.size_ + begin.entry; ++i) {
      leaves_[i]->handed_out = true;
      slice.leaves_.push_back(leaves_[i]);
      covered += leaves_[i]->entries.size();
    }
    return slice;
  }

 private:
  struct Position {
    std::size_t leaf = 0, entry = 0;
  };

  static std::shared_ptr<Leaf> NewLeaf() {
    auto leaf = std::make_shared<Leaf>();
    leaf->entries.reserve(kLeafEntries);
    return leaf;
  }

  // Where `key` is, or would be inserted. `leaf` may be leaves_.size() only if there are no leaves.
  Position LowerBound(const Key& key) const {
    if (leaves_.empty()) return {};
    // The last leaf that starts at or before the key, or the first leaf.
    const auto after =
        std::upper_bound(leaves_.begin(), leaves_.end(), key, [this](const Key& k, const auto& leaf) {
          return order_.Less(k, order_.KeyOf(leaf->entries.front()));
        });
    const auto leaf = after == leaves_.begin() ? after : std::prev(after);
    const auto& entries = (*leaf)->entries;
    const auto entry =
        std::lower_bound(entries.begin(), entries.end(), key,
                         [this](const Entry& e, const Key& k) { return order_.Less(order_.KeyOf(e), k); });
    return {static_cast<std::size_t>(leaf - leaves_.begin()),
            static_cast<std::size_t>(entry - entries.begin())};
  }

  // The same as a position in iteration order: past the end of a leaf becomes the start of the next.
  Position Begin(const Key& key) const {
    Position at = LowerBound(key);
    if (at.leaf < leaves_.size() && at.entry == leaves_[at.leaf]->entries.size()) at = {at.leaf + 1, 0};
    return at;
  }
  Position End(const std::optional<Key>& key) const {
    return key ? Begin(*key) : Position{leaves_.size(), 0};
  }

  std::size_t Distance(Position from, Position to) const {
    if (from.leaf > to.leaf || (from.leaf == to.leaf && from.entry >= to.entry)) return 0;
    std::size_t n = 0;
    for (std::size_t i = from.leaf; i < to.leaf; ++i) n += leaves_[i]->entries.size();
    return n + to.entry - from.entry;
  }

  bool Matches(Position at, const Key& key) const {
    return at.leaf < leaves_.size() && at.entry < leaves_[at.leaf]->entries.size() &&
           !order_.Less(key, order_.KeyOf(leaves_[at.leaf]->entries[at.entry]));
  }

  Leaf& Writable(std::size_t leaf) {
    auto& slot = leaves_[leaf];
    if (slot->handed_out) {
      auto copy = NewLeaf();
      copy->entries.assign(slot->entries.begin(), slot->entries.end());
      slot = std::move(copy);
    }
    return *slot;
  }

  // Makes room in a full leaf. Keys inserted in ascending order leave full leaves behind.
  Position Split(Position at) {
    Leaf& left = Writable(at.leaf);
    const std::size_t middle = at.entry == left.entries.size() ? at.entry : left.entries.size() / 2;
    auto right = NewLeaf();
    const auto from = left.entries.begin() + static_cast<std::ptrdiff_t>(middle);
    std::move(from, left.entries.end(), std::back_inserter(right->entries));
    left.entries.erase(from, left.entries.end());
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(at.leaf) + 1, std::move(right));
    return at.entry < middle ? at : Position{at.leaf + 1, at.entry - middle};
  }

  void MergeSmall(std::size_t leaf) {
    const std::size_t n = leaves_[leaf]->entries.size();
    if (n > kLeafEntries / 4) return;
    if (leaf + 1 < leaves_.size() && n > 0) {
      if (n + leaves_[leaf + 1]->entries.size() > kLeafEntries * 3 / 4) return;
      auto& left = Writable(leaf).entries;
      auto& right = Writable(leaf + 1).entries;
      std::move(right.begin(), right.end(), std::back_inserter(left));
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf) + 1);
    } else if (n == 0) {
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf));
    }
  }

  Order order_;
  std::vector<std::shared_ptr<Leaf>> leaves_;
  std::size_t size_ = 0;
};

}  // namespace flyball
