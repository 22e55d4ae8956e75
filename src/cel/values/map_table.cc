#include <algorithm>
#include <cmath>
#include <functional>

#include "cel/values/value.h"

namespace flyball::cel {
namespace {

std::size_t HashKey(const Value& key) {
  switch (key.kind()) {
    case ValueKind::kString:
      return std::hash<std::string_view>()(key.text());
    case ValueKind::kDouble:
      return std::hash<double>()(key.as_double()) * 31 + 3;
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
    case ValueKind::kTimestamp:
      return std::hash<std::int64_t>()(key.as_int()) * 31 + static_cast<std::size_t>(key.kind());
    default:
      return std::hash<const void*>()(key.identity());
  }
}

bool SameKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return a.text() == b.text();
    case ValueKind::kDouble:
      return a.as_double() == b.as_double();
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return a.as_int() == b.as_int();
    case ValueKind::kTimestamp:
      return a.as_int() == b.as_int() && a.nanoseconds() == b.nanoseconds();
    case ValueKind::kNull:
      return true;
    default:
      return a.identity() == b.identity();
  }
}

constexpr std::size_t kLinearEntries = 8;

}  // namespace

const Value* MapTable::Find(const Value& key) const {
  std::size_t at = FindExactly(key);
  if (at == size_) {
    const auto other = [&](const Value& converted) {
      if (at == size_) at = FindExactly(converted);
    };
    switch (key.kind()) {
      case ValueKind::kDouble: {
        const double d = key.as_double();
        if (d > -9223372036854775808.0 && d < 9223372036854775808.0 && d == std::trunc(d))
          other(Value::Int(static_cast<std::int64_t>(d)));
        if (d >= 0 && d < 18446744073709551616.0 && d == std::trunc(d))
          other(Value::Uint(static_cast<std::uint64_t>(d)));
        break;
      }
      case ValueKind::kInt:
        if (key.as_int() >= 0) other(Value::Uint(static_cast<std::uint64_t>(key.as_int())));
        break;
      case ValueKind::kUint:
        if (key.as_uint() <= static_cast<std::uint64_t>(INT64_MAX))
          other(Value::Int(static_cast<std::int64_t>(key.as_uint())));
        break;
      default:
        break;
    }
  }
  return at == size_ ? nullptr : &entries_[at].value;
}

std::size_t MapTable::FindExactly(const Value& key) const {
  if (!slots_) {
    for (std::size_t i = 0; i < size_; ++i)
      if (SameKey(entries_[i].key, key)) return i;
    return size_;
  }
  for (std::size_t slot = HashKey(key) & (slot_count_ - 1); slots_[slot];
       slot = (slot + 1) & (slot_count_ - 1))
    if (SameKey(entries_[slots_[slot] - 1].key, key)) return slots_[slot] - 1;
  return size_;
}

void MapTable::Set(const Value& key, const Value& value) {
  const std::size_t at = FindExactly(key);
  if (at < size_) {
    entries_[at].value = value;
    return;
  }
  if (size_ == capacity_) Grow();
  entries_[size_] = {key, value};
  ++size_;
  if (slots_) Index(size_ - 1);
}

void MapTable::Erase(const Value& key) {
  const std::size_t at = FindExactly(key);
  if (at == size_) return;
  std::copy(entries_ + at + 1, entries_ + size_, entries_ + at);
  --size_;
  if (!slots_) return;
  std::fill(slots_, slots_ + slot_count_, 0);
  for (std::size_t i = 0; i < size_; ++i) Index(i);
}

void MapTable::Grow() {
  const std::size_t larger = capacity_ ? capacity_ * 2 : 4;
  Entry* moved = arena_.NewArray<Entry>(larger);
  std::uninitialized_copy(entries_, entries_ + size_, moved);
  entries_ = moved;
  capacity_ = larger;
  if (capacity_ <= kLinearEntries) return;
  slot_count_ = capacity_ * 2;
  slots_ = arena_.NewArray<std::uint32_t>(slot_count_);
  std::fill(slots_, slots_ + slot_count_, 0);
  for (std::size_t i = 0; i < size_; ++i) Index(i);
}

void MapTable::Index(std::size_t position) {
  std::size_t slot = HashKey(entries_[position].key) & (slot_count_ - 1);
  while (slots_[slot]) slot = (slot + 1) & (slot_count_ - 1);
  slots_[slot] = static_cast<std::uint32_t>(position + 1);
}

}  // namespace flyball::cel
