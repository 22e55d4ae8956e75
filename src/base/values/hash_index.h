// HashIndex: finds numbered items by hash, with open addressing and eight bytes per slot. Growing and failed
// lookups never touch the items themselves, which keeps it fast when there are many items that are not in the
// CPU cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flyball {

// Thread-compatible.
class HashIndex {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  // Returns the number for which is(number) holds among those with this hash; kNone if there is none.
  template <typename Is>
  std::uint32_t Find(std::uint32_t hash, Is&& is) const {
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot slot = slots_[i];
      if (slot.number == kNone) return kNone;
      if (slot.hash == hash && is(slot.number)) return slot.number;
    }
  }
  // Call before a Find or Erase that will follow: many items are not in the CPU cache.
  void Prefetch(std::uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_], 1); }
  // Requires that the number is not in the index.
  void Insert(std::uint32_t hash, std::uint32_t number) {
    if ((size_ + 1) * 3 > slots_.size() * 2) Grow();
    ++size_;
    Place({hash, number});
  }
  // Requires that the number is in the index with this hash.
  void Erase(std::uint32_t hash, std::uint32_t number) {
    std::size_t hole = hash & mask_;
    while (slots_[hole].number != number) hole = (hole + 1) & mask_;
    --size_;
    // Later entries move up, so that no probe ends too early.
    for (std::size_t i = (hole + 1) & mask_; slots_[i].number != kNone; i = (i + 1) & mask_) {
      const std::size_t home = slots_[i].hash & mask_;
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole].number = kNone;
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kNone;
  };

  void Place(Slot slot) {
    std::size_t i = slot.hash & mask_;
    while (slots_[i].number != kNone) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.number != kNone) Place(slot);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t mask_ = 63, size_ = 0;
};

}  // namespace flyball
