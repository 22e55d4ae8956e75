// TrackerStack: what upstream's cost tracker has on its stack, by the ids of expressions only. Internal to
// the interpreter. Confined to one evaluation.
#pragma once

#include <cstdint>
#include <vector>

namespace flyball::cel {

class TrackerStack {
 public:
  explicit TrackerStack(std::int32_t max_id) : last_(static_cast<std::size_t>(max_id) + 1, kNone) {}

  void Push(std::int32_t id) {
    entries_.push_back({id, last_[Index(id)]});
    last_[Index(id)] = static_cast<std::int32_t>(entries_.size() - 1);
  }
  // Removes the topmost entry of that id and all above it. False if there is none.
  bool Drop(std::int32_t id) {
    const std::int32_t at = last_[Index(id)];
    if (at == kNone) return false;
    while (entries_.size() > static_cast<std::size_t>(at)) {
      last_[Index(entries_.back().id)] = entries_.back().previous;
      entries_.pop_back();
    }
    return true;
  }

 private:
  struct Entry {
    std::int32_t id, previous;
  };
  static constexpr std::int32_t kNone = -1;
  static std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }
  std::vector<Entry> entries_;
  std::vector<std::int32_t> last_;
};

}  // namespace flyball::cel
