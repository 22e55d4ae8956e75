// The memory of a WorkQueue, in two parts that need not share a lock. KeyTable finds every key that waits or
// is being processed by its hash. KeyLines keeps the waiting keys in order of priority. Both refer to
// KeyNodes, which a table owns and recycles, so that a queue in steady state does not allocate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/hash.h"
#include "base/values/hash_index.h"
#include "client/kind_ref.h"

namespace flyball {

// How keys are hashed: texts and object keys with HashText, everything else with std::hash.
template <typename Key>
struct KeyHash : std::hash<Key> {};
template <>
struct KeyHash<std::string> {
  std::size_t operator()(const std::string& key) const { return HashText(key); }
};
template <>
struct KeyHash<ObjectKey> {
  std::size_t operator()(const ObjectKey& key) const { return HashText(key.name, HashText(key.ns)); }
};

// New changes are kNormal. Objects of an initial list and resyncs are kLow, so that they do not delay
// changes.
enum class Priority : std::uint8_t { kLow, kNormal, kHigh };

// A key, from its first Add to the Done that nothing follows. The node is small, because with many keys each
// node is a cache miss or two. While the node is in a line, `prev`, `next` and `in_line` belong to the lines
// and the rest to its table; the priority changes under both locks.
template <typename Key>
struct KeyNode {
  Key key{};
  std::uint32_t hash = 0, number = 0;
  KeyNode* prev = nullptr;
  KeyNode* next = nullptr;  // in a line, or in the free list
  SteadyTime stamp{};       // when it was queued (set by the lines), then when it was taken (set by the
                            // table)
  Priority priority = Priority::kNormal;
  bool in_line = false;
  bool dirty = false;
  bool processing = false;
};

// Thread-compatible.
template <typename Key, typename Hash>
class KeyTable {
 public:
  using Node = KeyNode<Key>;

  // The hash that the functions below take. Computed outside the lock that guards the table, it costs nobody
  // else time. Spreads hashes that differ only in their high bits (std::hash of integers is the identity).
  static std::uint32_t HashOf(const Key& key) {
    return static_cast<std::uint32_t>((Hash()(key) * 0x9e3779b97f4a7c15ull) >> 32);
  }

  // Null if absent.
  Node* Find(const Key& key, std::uint32_t hash) {
    const std::uint32_t number = index_.Find(hash, [&](std::uint32_t n) { return At(n).key == key; });
    return number == HashIndex::kNone ? nullptr : &At(number);
  }

  Node* FindOrInsert(const Key& key, std::uint32_t hash) {
    Node* node = Find(key, hash);
    if (node) return node;
    node = NewNode();
    node->key = key;
    node->hash = hash;
    index_.Insert(hash, node->number);
    return node;
  }

  // Requires that the node is not in a line.
  void Erase(Node* node) {
    index_.Erase(node->hash, node->number);
    node->dirty = node->processing = false;
    node->next = free_;
    free_ = node;
  }

  // Call shortly before its Find or Erase.
  void Prefetch(const Node& node) const { index_.Prefetch(node.hash); }

  template <typename Fn>
  void ForEachProcessing(Fn&& fn) const {
    for (std::uint32_t i = 0; i < made_; ++i)
      if (At(i).processing) fn(At(i));
  }

 private:
  static constexpr std::uint32_t kChunk = 64;
  using Chunk = std::array<Node, kChunk>;

  Node& At(std::uint32_t number) const { return (*chunks_[number / kChunk])[number % kChunk]; }

  Node* NewNode() {
    if (!free_) {
      if (made_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
      Node* node = &At(made_);
      node->number = made_++;
      return node;
    }
    Node* node = free_;
    free_ = node->next;
    return node;
  }

  HashIndex index_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // nodes do not move
  std::uint32_t made_ = 0;
  Node* free_ = nullptr;
};

// Thread-compatible.
template <typename Key>
class KeyLines {
 public:
  using Node = KeyNode<Key>;

  // One take in this many goes to the lowest waiting priority.
  static constexpr unsigned kFairness = 16;

  // Adds it at the end of the line of its priority.
  void Enqueue(Node* node) {
    Line& line = lines_[static_cast<std::size_t>(node->priority)];
    node->prev = line.last;
    node->next = nullptr;
    (line.last ? line.last->next : line.first) = node;
    line.last = node;
    node->in_line = true;
    ++queued_;
  }

  // Does nothing if it has been taken in the meantime.
  void Lift(Node* node, Priority priority) {
    if (!node->in_line) return;
    Unlink(node);
    node->priority = priority;
    Enqueue(node);
  }

  // Null if nothing waits.
  Node* Dequeue() {
    if (queued_ == 0) return nullptr;
    Line* line = nullptr;
    if (++takes_ % kFairness == 0) {
      for (auto it = lines_.begin(); !line; ++it)
        if (it->first) line = &*it;
    } else {
      for (auto it = lines_.rbegin(); !line; ++it)
        if (it->first) line = &*it;
    }
    Node* node = line->first;
    Unlink(node);
    if (line->first) Prefetch(*line->first);
    return node;
  }

  std::size_t queued() const { return queued_; }

  // The oldest stamp of the waiting keys; SteadyTime::max() if none waits. A key that was raised to a higher
  // priority keeps its stamp and may be older than this.
  SteadyTime OldestStamp() const {
    SteadyTime oldest = SteadyTime::max();
    for (const Line& line : lines_)
      if (line.first) oldest = std::min(oldest, line.first->stamp);
    return oldest;
  }

 private:
  struct Line {
    Node* first = nullptr;
    Node* last = nullptr;
  };

  // A long line is not in the CPU cache: the next take needs this key, and the take after that the next node.
  static void Prefetch(const Node& node) {
    if constexpr (requires { node.key.data(); }) __builtin_prefetch(node.key.data());
    if (node.next) __builtin_prefetch(node.next, 1);
  }

  void Unlink(Node* node) {
    Line& line = lines_[static_cast<std::size_t>(node->priority)];
    (node->prev ? node->prev->next : line.first) = node->next;
    (node->next ? node->next->prev : line.last) = node->prev;
    node->in_line = false;
    --queued_;
  }

  std::array<Line, 3> lines_;
  std::size_t queued_ = 0;
  unsigned takes_ = 0;
};

}  // namespace flyball
