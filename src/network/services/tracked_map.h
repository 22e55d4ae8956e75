// TrackedMap: a map that remembers what it was, so that a difference can be told at any time.
// Thread-compatible.
#pragma once

#include <map>
#include <optional>
#include <vector>

namespace flyball::network {

template <typename Key, typename Value>
class TrackedMap {
 public:
  struct Change {
    Key key;
    std::optional<Value> before, after;  // one of them at least; unequal
  };

  void Set(const Key& key, const Value& value) {
    const auto known = values_.find(key);
    if (known != values_.end() && known->second == value) return;
    Touch(key, known);
    values_.insert_or_assign(key, value);
  }
  void Erase(const Key& key) {
    const auto known = values_.find(key);
    if (known == values_.end()) return;
    Touch(key, known);
    values_.erase(known);
  }
  // Null if absent.
  const Value* Find(const Key& key) const {
    const auto known = values_.find(key);
    return known == values_.end() ? nullptr : &known->second;
  }
  std::size_t size() const { return values_.size(); }

  // What differs from the last time.
  std::vector<Change> TakeChanges() {
    std::vector<Change> changes;
    for (auto& [key, before] : before_) {
      const Value* const now = Find(key);
      if (before ? now && *now == *before : !now) continue;
      changes.push_back({key, std::move(before), now ? std::optional<Value>(*now) : std::nullopt});
    }
    before_.clear();
    return changes;
  }
  // As if it had been empty the last time.
  void ForgetAll() {
    before_.clear();
    for (const auto& [key, value] : values_) before_.emplace(key, std::nullopt);
  }

 private:
  using Values = std::map<Key, Value>;
  void Touch(const Key& key, typename Values::iterator known) {
    before_.try_emplace(key, known == values_.end() ? std::nullopt : std::optional<Value>(known->second));
  }

  Values values_;
  std::map<Key, std::optional<Value>> before_;  // of the keys touched since the last time
};

}  // namespace flyball::network
