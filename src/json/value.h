// json::Value: the one JSON value of the project. A tree that can be read and changed in place; members of an
// object keep the order they were given in; integers are 64-bit and exact; strings are valid UTF-8.
//
// Copying copies the tree. Thread-compatible. Shared trees are passed as std::shared_ptr<const Value>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flyball::json {

class Value;
using Array = std::vector<Value>;
class Object;

class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Value() noexcept = default;  // null
  Value(std::nullptr_t) noexcept {}
  Value(bool b) noexcept;
  Value(int n) noexcept;
  Value(long n) noexcept;
  Value(long long n) noexcept;
  Value(unsigned n) noexcept;
  Value(double d) noexcept;
  Value(const char* s);
  Value(std::string_view s);
  Value(const std::string& s);
  Value(Array a);
  Value(Object o);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Kind kind() const noexcept;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_double() const { return kind() == Kind::kDouble; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  // Each requires the kind it names (as_double also takes an int).
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  std::string_view as_string() const;
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();

  // Tolerant reads: the value if it is of that kind, else the fallback.
  bool bool_or(bool fallback) const;
  std::int64_t int_or(std::int64_t fallback) const;
  std::string_view string_or(std::string_view fallback) const;

  // Member of an object; null pointer if absent or if this is not an object.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  // Walks members by name; null pointer as soon as one is absent.
  const Value* FindPath(std::initializer_list<std::string_view> path) const;
  Value* FindPath(std::initializer_list<std::string_view> path);
  // Member of an object; a null Value if absent or if this is not an object. Never inserts.
  const Value& operator[](std::string_view key) const;
  const Value& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  // Member of an object, added as null if absent. A null becomes an object first. Requires null or object.
  Value& operator[](std::string_view key);
  Value& operator[](const char* key) { return (*this)[std::string_view(key)]; }

  // Number of elements or members; 0 for everything else.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Deep equality. Objects compare without regard to order; 1 and 1.0 are different kinds and so unequal.
  bool operator==(const Value& other) const;

 private:
  Kind kind_ = Kind::kNull;
  union {
    bool bool_;
    std::int64_t int_ = 0;
    double double_;
    std::string* string_;
    Array* array_;
    Object* object_;
  };
  void Destroy() noexcept;
};

// Members in the order they were added. Lookup is linear for small objects and indexed for large ones.
class Object {
 public:
  using Member = std::pair<std::string, Value>;
  using iterator = std::vector<Member>::iterator;
  using const_iterator = std::vector<Member>::const_iterator;

  Object();
  Object(std::initializer_list<Member> members);
  Object(const Object&);
  Object(Object&&) noexcept;
  Object& operator=(const Object&);
  Object& operator=(Object&&) noexcept;
  ~Object();

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
  // Found or added as null at the end.
  Value& operator[](std::string_view key);
  // Adds at the end or replaces in place.
  void Set(std::string_view key, Value value);
  // Adds at the end. Requires that key is absent (checked in debug builds only): for decoders.
  void Append(std::string key, Value value);
  // True if it was there. Keeps the order of the rest.
  bool Erase(std::string_view key);
  void Reserve(std::size_t n);
  void Clear();
  // Sorts members by key, bytewise: Go's order of maps.
  void SortKeys();

  bool operator==(const Object& other) const;

 private:
  std::vector<Member> members_;
  struct Index;
  Index* index_ = nullptr;  // built when there are more than kIndexThreshold members
};

}  // namespace flyball::json
