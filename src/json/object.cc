#include <algorithm>
#include <memory>
#include <new>
#include <tuple>

#include "base/run/random.h"
#include "json/value.h"

namespace flyball::json {
namespace {

// Up to this size, comparing lengths and first bytes in sequence is faster than hashing.
constexpr std::size_t kIndexThreshold = 24;

// Keys come from the network. A random seed prevents clients from choosing colliding keys.
std::size_t Hash(std::string_view key) {
  static const std::uint64_t seed = Random::System().Next();
  std::uint64_t h = seed ^ key.size();
  for (const char c : key) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

}  // namespace

// Positions of members by key: open addressing, linear probing, at most half full.
class Object::Index {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit Index(const Object& object) { Rebuild(object); }

  std::size_t Find(const Object& object, std::string_view key) const {
    for (std::size_t slot = Hash(key) & mask_; slots_[slot] != kEmpty; slot = (slot + 1) & mask_) {
      if (slots_[slot] != kErased && object.begin()[slots_[slot]].first == key) return slots_[slot];
    }
    return kNone;
  }

  // The last member was just added.
  void AddLast(const Object& object) {
    if (++used_ * 2 > slots_.size()) return Rebuild(object);
    Place((object.end() - 1)->first, static_cast<std::uint32_t>(object.size() - 1));
  }

  // The member at `position` was just erased, and those behind it moved up.
  void Erased(std::size_t position) {
    for (std::uint32_t& slot : slots_) {
      if (slot >= kErased) continue;
      if (slot == position)
        slot = kErased;
      else if (slot > position)
        --slot;
    }
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff, kErased = 0xfffffffe;

  void Place(std::string_view key, std::uint32_t position) {
    std::size_t slot = Hash(key) & mask_;
    while (slots_[slot] != kEmpty) slot = (slot + 1) & mask_;
    slots_[slot] = position;
  }

  void Rebuild(const Object& object) {
    std::size_t size = 64;
    while (size < object.size() * 4) size *= 2;
    mask_ = size - 1;
    used_ = object.size();
    slots_.assign(size, kEmpty);
    for (std::uint32_t i = 0; i < object.size(); ++i) Place(object.begin()[i].first, i);
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;  // including erased ones
};

Object::Object(std::initializer_list<Member> members) {
  Reserve(members.size());
  for (const Member& member : members) Set(member.first, member.second);
}

Object::Object(const Object& other) {
  Reserve(other.size());
  for (const auto& [key, value] : other) Append(key, value);
}

Object& Object::operator=(const Object& other) {
  if (this != &other) *this = Object(other);
  return *this;
}

Object& Object::operator=(Object&& other) noexcept {
  Object taken(std::move(other));
  std::swap(block_, taken.block_);
  return *this;
}

void Object::Free() noexcept {
  std::destroy_n(block_->members(), block_->size);
  delete block_->index;
  ::operator delete(block_);
  block_ = nullptr;
}

// Requires capacity >= size().
void Object::Reallocate(std::size_t capacity) {
  static_assert(sizeof(Block) % alignof(Member) == 0, "members follow the header");
  void* memory = ::operator new(sizeof(Block) + capacity * sizeof(Member));
  auto* block =
      new (memory) Block{static_cast<std::uint32_t>(size()), static_cast<std::uint32_t>(capacity), nullptr};
  if (block_) {
    std::uninitialized_move_n(block_->members(), block_->size, block->members());
    std::swap(block->index, block_->index);
    Free();
  }
  block_ = block;
}

std::size_t Object::Position(std::string_view key) const {
  if (!block_) return Index::kNone;
  if (block_->index) return block_->index->Find(*this, key);
  for (std::size_t i = 0; i < block_->size; ++i) {
    if (begin()[i].first == key) return i;
  }
  return Index::kNone;
}

void Object::BuildIndex() {
  delete std::exchange(block_->index, nullptr);
  if (block_->size >= kIndexThreshold) block_->index = new Index(*this);
}

const Value* Object::Find(std::string_view key) const {
  const std::size_t position = Position(key);
  return position == Index::kNone ? nullptr : &begin()[position].second;
}

Value* Object::Find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).Find(key));
}

Value& Object::operator[](std::string_view key) {
  Value* found = Find(key);
  return found ? *found : AppendNull(key);
}

void Object::Set(std::string_view key, Value value) {
  if (Value* found = Find(key))
    *found = std::move(value);
  else
    Append(key, std::move(value));
}

Value& Object::Append(std::string_view key, Value value) {
  return AppendNull(key) = std::move(value);
}

Value& Object::AppendNull(std::string_view key) {
  assert(!contains(key));
  if (!block_ || block_->size == block_->capacity) {
    // Created before the members move, because the key may be one of theirs.
    std::string own(key);
    Reallocate(size() < 2 ? 4 : size() * 2);
    new (end()) Member(std::piecewise_construct, std::forward_as_tuple(std::move(own)), std::tuple<>());
  } else {
    new (end()) Member(std::piecewise_construct, std::forward_as_tuple(key), std::tuple<>());
  }
  ++block_->size;
  if (block_->index)
    block_->index->AddLast(*this);
  else if (block_->size == kIndexThreshold)
    BuildIndex();
  return (end() - 1)->second;
}

bool Object::Erase(std::string_view key) {
  const std::size_t position = Position(key);
  if (position == Index::kNone) return false;
  std::move(begin() + position + 1, end(), begin() + position);
  std::destroy_at(end() - 1);
  --block_->size;
  if (block_->index) block_->index->Erased(position);
  return true;
}

void Object::Truncate(std::size_t size) {
  if (size == this->size()) return;
  std::destroy(begin() + size, end());
  block_->size = static_cast<std::uint32_t>(size);
  BuildIndex();
}

void Object::Reserve(std::size_t n) {
  if (n > (block_ ? block_->capacity : 0)) Reallocate(n);
}

void Object::Clear() {
  if (block_) Free();
}

void Object::SortKeys() {
  if (!block_) return;
  std::sort(begin(), end(), [](const Member& a, const Member& b) { return a.first < b.first; });
  BuildIndex();
}

bool Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const auto& [key, value] : *this) {
    const Value* found = other.Find(key);
    if (!found || *found != value) return false;
  }
  return true;
}

}  // namespace flyball::json
