// Linearizability: was there an order of all operations, each taking effect at one moment between its call
// and its return, in which a single register would have given the same answers? (Wing and Gong's search, with
// Lowe's memory of states already tried.) Per key: a history is linearizable if that of each key is. For
// tests.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace flyball::store {

// One operation on one key.
struct RegisterOperation {
  enum class Kind { kRead, kWrite, kCompareAndSet };
  Kind kind = Kind::kRead;
  std::int64_t called = 0, returned = 0;
  std::int64_t expected = 0;  // kCompareAndSet: the version that must be there (0: absent)
  bool succeeded = true;      // kCompareAndSet
  std::int64_t version = 0;   // that was read, written, or found instead of the expected one
};

// Searches depth first; `max 64` operations a history.
class LinearizabilityChecker {
 public:
  explicit LinearizabilityChecker(std::vector<RegisterOperation> history) : history_(std::move(history)) {}
  bool Check() { return history_.size() <= 64 && Search(0, 0); }

 private:
  bool Search(std::uint64_t done, std::int64_t version) {
    const std::size_t n = history_.size();
    if (done == (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1)) return true;
    if (!tried_.insert(std::to_string(done) + "/" + std::to_string(version)).second) return false;
    // An operation may come next only if no other that is still to come had returned before it was called.
    std::int64_t first_return = INT64_MAX;
    for (std::size_t i = 0; i < n; ++i)
      if (!(done >> i & 1) && history_[i].returned < first_return) first_return = history_[i].returned;
    for (std::size_t i = 0; i < n; ++i) {
      if ((done >> i & 1) || history_[i].called > first_return) continue;
      std::int64_t next = version;
      if (Apply(history_[i], &next) && Search(done | std::uint64_t{1} << i, next)) return true;
    }
    return false;
  }

  // The register's answer: false if it would have been another.
  static bool Apply(const RegisterOperation& operation, std::int64_t* version) {
    switch (operation.kind) {
      case RegisterOperation::Kind::kRead:
        return *version == operation.version;
      case RegisterOperation::Kind::kWrite:
        *version = operation.version;
        return true;
      case RegisterOperation::Kind::kCompareAndSet:
        if (!operation.succeeded) return *version != operation.expected && *version == operation.version;
        if (*version != operation.expected) return false;
        *version = operation.version;
        return true;
    }
    return false;
  }

  const std::vector<RegisterOperation> history_;
  std::unordered_set<std::string> tried_;
};

}  // namespace flyball::store
