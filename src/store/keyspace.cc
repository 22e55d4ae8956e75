#include "store/keyspace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace flyball::store {
namespace {

std::shared_ptr<Keyspace::Leaf> NewLeaf() {
  auto leaf = std::make_shared<Keyspace::Leaf>();
  leaf->entries.reserve(Keyspace::kLeafEntries);
  return leaf;
}

bool KeyLess(const Entry& entry, std::string_view key) {
  return entry.key < key;
}

}  // namespace

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

Keyspace::Position Keyspace::LowerBound(std::string_view key) const {
  if (leaves_.empty()) return {};
  // The last leaf that begins at or before the key, or the first.
  const auto after =
      std::upper_bound(leaves_.begin(), leaves_.end(), key,
                       [](std::string_view k, const auto& leaf) { return k < leaf->entries.front().key; });
  const auto leaf = after == leaves_.begin() ? after : std::prev(after);
  const auto& entries = (*leaf)->entries;
  const auto entry = std::lower_bound(entries.begin(), entries.end(), key, KeyLess);
  return {static_cast<std::size_t>(leaf - leaves_.begin()),
          static_cast<std::size_t>(entry - entries.begin())};
}

Keyspace::Position Keyspace::Begin(std::string_view key) const {
  Position at = LowerBound(key);
  if (at.leaf < leaves_.size() && at.entry == leaves_[at.leaf]->entries.size()) at = {at.leaf + 1, 0};
  return at;
}

Keyspace::Position Keyspace::End(std::string_view prefix) const {
  const std::string end = PrefixEnd(prefix);
  return end.empty() ? Position{leaves_.size(), 0} : Begin(end);
}

std::size_t Keyspace::Distance(Position from, Position to) const {
  if (from.leaf > to.leaf || (from.leaf == to.leaf && from.entry >= to.entry)) return 0;
  std::size_t n = 0;
  for (std::size_t i = from.leaf; i < to.leaf; ++i) n += leaves_[i]->entries.size();
  return n + to.entry - from.entry;
}

bool Keyspace::Matches(Position at, std::string_view key) const {
  return at.leaf < leaves_.size() && at.entry < leaves_[at.leaf]->entries.size() &&
         leaves_[at.leaf]->entries[at.entry].key == key;
}

const Entry* Keyspace::Find(std::string_view key) const {
  const Position at = LowerBound(key);
  return Matches(at, key) ? &leaves_[at.leaf]->entries[at.entry] : nullptr;
}

Keyspace::Leaf& Keyspace::Writable(std::size_t leaf) {
  auto& slot = leaves_[leaf];
  if (slot->handed_out) {
    auto copy = NewLeaf();
    copy->entries.assign(slot->entries.begin(), slot->entries.end());
    slot = std::move(copy);
  }
  return *slot;
}

// Makes room in a full leaf. Keys that come in ascending order leave full leaves behind them.
Keyspace::Position Keyspace::Split(Position at) {
  Leaf& left = Writable(at.leaf);
  const std::size_t middle = at.entry == left.entries.size() ? at.entry : left.entries.size() / 2;
  auto right = NewLeaf();
  const auto from = left.entries.begin() + static_cast<std::ptrdiff_t>(middle);
  std::move(from, left.entries.end(), std::back_inserter(right->entries));
  left.entries.erase(from, left.entries.end());
  leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(at.leaf) + 1, std::move(right));
  return at.entry < middle ? at : Position{at.leaf + 1, at.entry - middle};
}

void Keyspace::Put(Entry entry) {
  Position at = LowerBound(entry.key);
  if (Matches(at, entry.key)) {
    Entry& old = Writable(at.leaf).entries[at.entry];
    old.value = std::move(entry.value);
    old.created = entry.created;
    old.id = entry.id;
    return;
  }
  if (leaves_.empty()) leaves_.push_back(NewLeaf());
  if (leaves_[at.leaf]->entries.size() == kLeafEntries) at = Split(at);
  auto& entries = Writable(at.leaf).entries;
  entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(at.entry), std::move(entry));
  ++size_;
}

bool Keyspace::Erase(std::string_view key) {
  const Position at = LowerBound(key);
  if (!Matches(at, key)) return false;
  auto& entries = Writable(at.leaf).entries;
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at.entry));
  --size_;
  MergeSmall(at.leaf);
  return true;
}

void Keyspace::MergeSmall(std::size_t leaf) {
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

std::size_t Keyspace::Count(std::string_view prefix) const {
  return Distance(Begin(prefix), End(prefix));
}

Keyspace::Slice Keyspace::Read(std::string_view prefix, std::string_view start, std::size_t limit) const {
  Slice slice;
  const Position from = Begin(std::max(prefix, start));
  const std::size_t total = Distance(from, End(prefix));
  slice.first_ = from.entry;
  slice.size_ = limit == 0 ? total : std::min(limit, total);
  slice.remaining_ = total - slice.size_;
  std::size_t covered = 0;
  for (std::size_t i = from.leaf; covered < slice.size_ + from.entry; ++i) {
    leaves_[i]->handed_out = true;
    slice.leaves_.push_back(leaves_[i]);
    covered += leaves_[i]->entries.size();
  }
  return slice;
}

}  // namespace flyball::store
