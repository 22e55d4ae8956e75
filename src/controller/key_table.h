// KeyTable: the memory of a WorkQueue: every key that waits or is being worked on, found by hash, and the
// waiting ones in lines by priority. Nodes are recycled, so a steady queue does not allocate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"

namespace flyball {

// Fresh changes are kNormal; objects of an initial list and resyncs are kLow, so that they do not delay them.
enum class Priority : std::uint8_t { kLow, kNormal, kHigh };

// Thread-compatible.
template <typename Key, typename Hash>
class KeyTable {
 public:
  // One take in this many goes to the lowest priority waiting.
  static constexpr unsigned kFairness = 16;

  struct Node {
    Key key{};
    std::size_t hash = 0;
    Node* chain = nullptr;  // next with the same bucket, or next free
    Node* prev = nullptr;   // in line
    Node* next = nullptr;
    SteadyTime stamp{};  // when it was queued, then when it was taken
    Priority priority = Priority::kNormal;
    bool dirty = false;
    bool processing = false;
  };

  KeyTable() : buckets_(kMinBuckets) {}

  Node* Find(const Key& key) const {
    const std::size_t hash = Mix(Hash()(key));
    for (Node* n = buckets_[hash & (buckets_.size() - 1)]; n; n = n->chain)
      if (n->hash == hash && n->key == key) return n;
    return nullptr;
  }

  Node* FindOrInsert(const Key& key) {
    const std::size_t hash = Mix(Hash()(key));
    for (Node* n = buckets_[hash & (buckets_.size() - 1)]; n; n = n->chain)
      if (n->hash == hash && n->key == key) return n;
    if (size_ == buckets_.size()) Grow();
    Node* node = NewNode();
    node->key = key;
    node->hash = hash;
    Node*& bucket = buckets_[hash & (buckets_.size() - 1)];
    node->chain = bucket;
    bucket = node;
    ++size_;
    return node;
  }

  // Requires that the node is in no line.
  void Erase(Node* node) {
    Node** link = &buckets_[node->hash & (buckets_.size() - 1)];
    while (*link != node) link = &(*link)->chain;
    *link = node->chain;
    --size_;
    node->dirty = node->processing = false;
    node->chain = free_;
    free_ = node;
  }

  // At the end of the line of its priority.
  void Enqueue(Node* node) {
    Line& line = lines_[static_cast<std::size_t>(node->priority)];
    node->prev = line.last;
    node->next = nullptr;
    (line.last ? line.last->next : line.first) = node;
    line.last = node;
    ++queued_;
  }

  void Lift(Node* node, Priority priority) {
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
    return node;
  }

  std::size_t queued() const { return queued_; }

 private:
  static constexpr std::size_t kMinBuckets = 64;
  struct Line {
    Node* first = nullptr;
    Node* last = nullptr;
  };

  // Spreads hashes that differ only in their high bits (std::hash of integers is the identity).
  static std::size_t Mix(std::size_t h) {
    h *= 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 32);
  }

  void Unlink(Node* node) {
    Line& line = lines_[static_cast<std::size_t>(node->priority)];
    (node->prev ? node->prev->next : line.first) = node->next;
    (node->next ? node->next->prev : line.last) = node->prev;
    --queued_;
  }

  Node* NewNode() {
    if (!free_) return &nodes_.emplace_back();
    Node* node = free_;
    free_ = node->chain;
    return node;
  }

  void Grow() {
    std::vector<Node*> bigger(buckets_.size() * 2);
    for (Node* node : buckets_) {
      while (node) {
        Node* following = node->chain;
        Node*& bucket = bigger[node->hash & (bigger.size() - 1)];
        node->chain = bucket;
        bucket = node;
        node = following;
      }
    }
    buckets_ = std::move(bigger);
  }

  std::vector<Node*> buckets_;
  std::deque<Node> nodes_;
  Node* free_ = nullptr;
  std::array<Line, 3> lines_;
  std::size_t size_ = 0, queued_ = 0;
  unsigned takes_ = 0;
};

}  // namespace flyball
