// json::Value: the project's only JSON value. A tree that can be read and changed in place. Members of an
// object keep their order. Integers are 64-bit and exact. Strings are valid UTF-8.
//
// Copying copies the whole tree. Copying, comparing, writing and destroying use bounded stack, however deep
// the tree is. Thread-compatible. Shared trees are passed as std::shared_ptr<const Value>.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flyball::json {

class Value;
using Array = std::vector<Value>;

// Members in the order they were added. Lookup is linear in small objects and indexed in large ones. Pointers
// to members, and iterators, stay valid until a member is added, erased or sorted.
class Object {
 public:
  using Member = std::pair<std::string, Value>;
  using iterator = Member*;
  using const_iterator = const Member*;

  Object() noexcept = default;
  Object(std::initializer_list<Member> members);
  Object(const Object& other);
  Object(Object&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Object& operator=(const Object& other);
  Object& operator=(Object&& other) noexcept;
  ~Object() {
    if (block_) Free();
  }

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // Values may be changed through iterators; keys must not.
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;

  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  bool contains(std::string_view key) const { return Find(key) != nullptr; }
  // Finds the member, or adds it as null at the end.
  Value& operator[](std::string_view key);
  // Adds at the end or replaces in place.
  void Set(std::string_view key, Value value);
  // Adds at the end. Requires that the key is absent (checked only in debug builds). For decoders.
  Value& Append(std::string_view key, Value value);
  Value& AppendNull(std::string_view key);
  // True if it was there. Keeps the order of the rest. Linear: to erase many, use EraseIf.
  bool Erase(std::string_view key);
  // Erases every member for which fn(key, value) holds, in one pass. Keeps the order of the rest.
  template <typename Fn>
  void EraseIf(Fn fn);
  void Reserve(std::size_t n);
  void Clear();
  // Sorts members by key, bytewise, as Go sorts maps.
  void SortKeys();

  bool operator==(const Object& other) const;

 private:
  class Index;
  struct Block;

  std::size_t Position(std::string_view key) const;
  void Reallocate(std::size_t capacity);
  void BuildIndex();
  void Truncate(std::size_t size);
  void Free() noexcept;

  Block* block_ = nullptr;  // header and members in one block; null until the first member is added
};

class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Value() noexcept : wide_(Kind::kNull) {}
  Value(std::nullptr_t) noexcept : wide_(Kind::kNull) {}
  Value(bool b) noexcept : wide_(Kind::kBool) { wide_.boolean = b; }
  Value(int n) noexcept : wide_(Kind::kInt, n) {}
  Value(long n) noexcept : wide_(Kind::kInt, n) {}
  Value(long long n) noexcept : wide_(Kind::kInt, n) {}
  Value(unsigned n) noexcept : wide_(Kind::kInt, n) {}
  Value(double d) noexcept : wide_(Kind::kDouble) { wide_.real = d; }
  // Requires UTF-8 of less than 4 GiB; throws std::length_error otherwise.
  Value(const char* s) : Value(std::string_view(s)) {}
  Value(std::string_view s) : wide_(Kind::kNull) { SetString(s); }
  Value(const std::string& s) : Value(std::string_view(s)) {}
  Value(Array a);
  Value(Object o) noexcept : wide_(std::move(o)) {}
  Value(const Value& other);
  Value(Value&& other) noexcept : wide_(Kind::kNull) { Take(other); }
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept {
    if (this == &other) return *this;
    // Taken first, because `other` may be part of the tree that is about to be destroyed.
    Value taken(std::move(other));
    if (OwnsMemory()) Destroy();
    Take(taken);
    return *this;
  }
  ~Value() {
    if (OwnsMemory()) Destroy();
  }

  Kind kind() const noexcept { return wide_.kind; }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_double() const { return kind() == Kind::kDouble; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  // Each requires the kind it names (as_double also accepts an int).
  bool as_bool() const { return assert(is_bool()), wide_.boolean; }
  std::int64_t as_int() const { return assert(is_int()), wide_.integer; }
  double as_double() const;
  std::string_view as_string() const {
    assert(is_string());
    if (wide_.length == kOnHeap) return {wide_.text, wide_.heap_length};
    return {short_.text, short_.length};
  }
  const Array& as_array() const { return assert(is_array()), *wide_.array; }
  Array& as_array() { return assert(is_array()), *wide_.array; }
  const Object& as_object() const { return assert(is_object()), wide_.object; }
  Object& as_object() { return assert(is_object()), wide_.object; }

  // Tolerant reads: the value if it is of that kind, else the fallback.
  bool bool_or(bool fallback) const;
  std::int64_t int_or(std::int64_t fallback) const;
  std::string_view string_or(std::string_view fallback) const;

  // Returns a member of an object; a null pointer if it is absent or this is not an object.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  // Walks members by name; returns a null pointer as soon as one is absent.
  const Value* FindPath(std::initializer_list<std::string_view> path) const;
  Value* FindPath(std::initializer_list<std::string_view> path);
  // Returns a member of an object; a null Value if it is absent or this is not an object. Never inserts.
  const Value& operator[](std::string_view key) const;
  const Value& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  // Returns a member of an object, added as null if absent. A null value becomes an object first. Requires
  // null or object.
  Value& operator[](std::string_view key);
  Value& operator[](const char* key) { return (*this)[std::string_view(key)]; }

  // Number of elements or members; 0 for all other kinds.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Deep equality. Objects compare without regard to order; 1 and 1.0 are different kinds and therefore
  // unequal.
  bool operator==(const Value& other) const;

 private:
  // A string of up to kInlineLength bytes is stored in the value itself, a longer one in a heap block. The
  // two layouts share their first two members, which may therefore be read through either.
  static constexpr std::size_t kInlineLength = 14;
  static constexpr std::uint8_t kOnHeap = 0xff;
  struct Short {
    Kind kind;
    std::uint8_t length;  // of the inline string, or kOnHeap
    char text[kInlineLength];
  };
  struct Wide {
    explicit Wide(Kind k, std::int64_t n = 0) noexcept
        : kind(k), length(0), unused{}, heap_length(0), integer(n) {}
    explicit Wide(Object o) noexcept
        : kind(Kind::kObject), length(0), unused{}, heap_length(0), object(std::move(o)) {}
    ~Wide() {}
    Kind kind;
    std::uint8_t length;
    char unused[2];
    std::uint32_t heap_length;
    union {
      std::int64_t integer;
      bool boolean;
      double real;
      char* text;
      Array* array;
      Object object;
    };
  };
  union {
    Wide wide_;
    Short short_;
  };

  struct Walk;
  friend struct Walk;
  // Moves other's bits here (every layout is trivially relocatable) and leaves null there. Requires that
  // nothing is owned.
  void Take(Value& other) noexcept {
    std::memcpy(static_cast<void*>(this), static_cast<void*>(&other), sizeof *this);
    other.Forget();
  }
  // Becomes null without freeing anything.
  void Forget() noexcept {
    wide_.kind = Kind::kNull;
    wide_.length = 0;
  }
  void SetString(std::string_view s);
  void Destroy() noexcept;
  bool OwnsMemory() const { return kind() > Kind::kString || (is_string() && wide_.length == kOnHeap); }
};
static_assert(sizeof(void*) != 8 || sizeof(Value) == 16, "trees are made of these: keep them small");

// The members follow the header.
struct Object::Block {
  std::uint32_t size;
  std::uint32_t capacity;
  Index* index;  // with kIndexThreshold members or more, else null

  Member* members() { return reinterpret_cast<Member*>(this + 1); }
  const Member* members() const { return reinterpret_cast<const Member*>(this + 1); }
};

template <typename Fn>
void Object::EraseIf(Fn fn) {
  Member* kept = begin();
  for (Member& member : *this) {
    if (fn(std::string_view(member.first), std::as_const(member.second))) continue;
    if (kept != &member) *kept = std::move(member);
    ++kept;
  }
  Truncate(static_cast<std::size_t>(kept - begin()));
}

inline std::size_t Object::size() const {
  return block_ ? block_->size : 0;
}
inline Object::iterator Object::begin() {
  return block_ ? block_->members() : nullptr;
}
inline Object::iterator Object::end() {
  return begin() + size();
}
inline Object::const_iterator Object::begin() const {
  return block_ ? std::as_const(*block_).members() : nullptr;
}
inline Object::const_iterator Object::end() const {
  return begin() + size();
}

// What Go's decoder calls the kind in its errors: "bool", "number", "string", "array", "object", "null".
std::string_view GoKindName(const Value& value);

}  // namespace flyball::json
