#include <algorithm>
#include <functional>

#include "base/random.h"
#include "json/value.h"

namespace flyball::json {
namespace {

// Up to here comparing lengths and first bytes in a row beats hashing.
constexpr std::size_t kIndexThreshold = 24;

// Keys come from the network: a seed that differs from run to run keeps them from being chosen to collide.
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
  explicit Index(const std::vector<Member>& members) { Rebuild(members); }

  std::size_t Find(const std::vector<Member>& members, std::string_view key) const {
    for (std::size_t slot = Hash(key) & mask_; slots_[slot] != kEmpty; slot = (slot + 1) & mask_) {
      if (slots_[slot] != kErased && members[slots_[slot]].first == key) return slots_[slot];
    }
    return kNone;
  }

  // The last member was just added.
  void AddLast(const std::vector<Member>& members) {
    if (++used_ * 2 > slots_.size()) return Rebuild(members);
    Place(members.back().first, static_cast<std::uint32_t>(members.size() - 1));
  }

  // The member at `position` was just erased and those behind it moved up.
  void Erased(std::uint32_t position) {
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

  void Rebuild(const std::vector<Member>& members) {
    std::size_t size = 64;
    while (size < members.size() * 4) size *= 2;
    mask_ = size - 1;
    used_ = members.size();
    slots_.assign(size, kEmpty);
    for (std::uint32_t i = 0; i < members.size(); ++i) Place(members[i].first, i);
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;  // erased ones too
};

Object::Object(std::initializer_list<Member> members) {
  Reserve(members.size());
  for (const Member& member : members) Set(member.first, member.second);
}

Object::Object(const Object& other) : members_(other.members_) {
  BuildIndex();
}

Object::Object() noexcept = default;
Object::Object(Object&&) noexcept = default;

Object& Object::operator=(const Object& other) {
  if (this != &other) *this = Object(other);
  return *this;
}

Object& Object::operator=(Object&&) noexcept = default;
Object::~Object() = default;

std::size_t Object::Position(std::string_view key) const {
  if (index_) return index_->Find(members_, key);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].first == key) return i;
  }
  return kNone;
}

void Object::BuildIndex() {
  index_ = members_.size() >= kIndexThreshold ? std::make_unique<Index>(members_) : nullptr;
}

Value& Object::Add(std::string key, Value value) {
  members_.emplace_back(std::move(key), std::move(value));
  if (index_)
    index_->AddLast(members_);
  else if (members_.size() >= kIndexThreshold)
    BuildIndex();
  return members_.back().second;
}

const Value* Object::Find(std::string_view key) const {
  const std::size_t position = Position(key);
  return position == kNone ? nullptr : &members_[position].second;
}

Value* Object::Find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).Find(key));
}

Value& Object::operator[](std::string_view key) {
  Value* found = Find(key);
  return found ? *found : Add(std::string(key), nullptr);
}

void Object::Set(std::string_view key, Value value) {
  if (Value* found = Find(key))
    *found = std::move(value);
  else
    Add(std::string(key), std::move(value));
}

void Object::Append(std::string key, Value value) {
  assert(!contains(key));
  Add(std::move(key), std::move(value));
}

bool Object::Erase(std::string_view key) {
  const std::size_t position = Position(key);
  if (position == kNone) return false;
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(position));
  if (index_) index_->Erased(static_cast<std::uint32_t>(position));
  return true;
}

void Object::Reserve(std::size_t n) {
  members_.reserve(n);
}

void Object::Clear() {
  members_.clear();
  index_.reset();
}

void Object::SortKeys() {
  std::sort(members_.begin(), members_.end(),
            [](const Member& a, const Member& b) { return a.first < b.first; });
  BuildIndex();
}

bool Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const auto& [key, value] : members_) {
    const Value* found = other.Find(key);
    if (!found || *found != value) return false;
  }
  return true;
}

}  // namespace flyball::json
