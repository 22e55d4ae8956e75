#include "json/value.h"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace flyball::json {

// Walks over whole trees. Nesting may be 10,000 levels deep (Go's limit), which is too much for a thread's
// stack. Each walk therefore recurses a few levels (which is cheap) and puts deeper parts on a list for
// later.
struct Value::Walk {
  static constexpr int kMaxRecursion = 64;

  struct Copy {
    const Value* from;
    Value* to;
  };
  using Copies = std::vector<Copy>;

  static void CopyTree(const Value& from, Value& to) {
    Copies later;
    CopyOne(from, to, 0, later);
    while (!later.empty()) {
      const Copy next = later.back();
      later.pop_back();
      CopyOne(*next.from, *next.to, 0, later);
    }
  }

  // Requires `to` to be null.
  static void CopyOne(const Value& from, Value& to, int depth, Copies& later) {
    if (!from.OwnsMemory()) {
      std::memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof to);
    } else if (from.is_string()) {
      to.SetString(from.as_string());
    } else if (depth == kMaxRecursion) {
      later.push_back({&from, &to});
    } else if (from.is_array()) {
      to = Value(Array(from.size()));
      for (std::size_t i = 0; i < from.size(); ++i)
        CopyOne(from.as_array()[i], to.as_array()[i], depth + 1, later);
    } else {
      to = Value(Object());
      to.as_object().Reserve(from.size());
      for (const auto& [key, value] : from.as_object()) {
        CopyOne(value, to.as_object().AppendNull(key), depth + 1, later);
      }
    }
  }

  // Leaves `value` without memory of its own; containers that are too deep move to `later`.
  static void Release(Value& value, int depth, std::vector<Value>& later) {
    if (value.is_string()) {
      delete[] value.wide_.text;
    } else if (depth == kMaxRecursion) {
      later.push_back(std::move(value));
    } else if (value.is_array()) {
      for (Value& element : value.as_array()) {
        if (element.OwnsMemory()) Release(element, depth + 1, later);
      }
      delete value.wide_.array;
    } else {
      for (auto& [key, member] : value.as_object()) {
        if (member.OwnsMemory()) Release(member, depth + 1, later);
      }
      value.wide_.object.~Object();
    }
    value.Forget();
  }

  struct Pair {
    const Value* a;
    const Value* b;
  };
  using Pairs = std::vector<Pair>;

  static bool Equal(const Value& a, const Value& b) {
    Pairs later;
    if (!EqualOne(a, b, 0, later)) return false;
    while (!later.empty()) {
      const Pair next = later.back();
      later.pop_back();
      if (!EqualOne(*next.a, *next.b, 0, later)) return false;
    }
    return true;
  }

  static bool EqualOne(const Value& a, const Value& b, int depth, Pairs& later) {
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
      case Kind::kNull:
        return true;
      case Kind::kBool:
        return a.as_bool() == b.as_bool();
      case Kind::kInt:
        return a.as_int() == b.as_int();
      case Kind::kDouble:
        return a.as_double() == b.as_double();
      case Kind::kString:
        return a.as_string() == b.as_string();
      case Kind::kArray:
      case Kind::kObject:
        break;
    }
    if (a.size() != b.size()) return false;
    if (depth == kMaxRecursion) {
      later.push_back({&a, &b});
      return true;
    }
    return a.is_array() ? EqualArrays(a, b, depth, later) : EqualObjects(a, b, depth, later);
  }

  static bool EqualArrays(const Value& a, const Value& b, int depth, Pairs& later) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!EqualOne(a.as_array()[i], b.as_array()[i], depth + 1, later)) return false;
    }
    return true;
  }

  static bool EqualObjects(const Value& a, const Value& b, int depth, Pairs& later) {
    auto same_place = b.as_object().begin();  // usually the order is the same, too
    for (const auto& [key, value] : a.as_object()) {
      const Value* other = same_place->first == key ? &same_place->second : b.Find(key);
      if (!other || !EqualOne(value, *other, depth + 1, later)) return false;
      ++same_place;
    }
    return true;
  }
};

Value::Value(Array a) : wide_(Kind::kArray) {
  wide_.array = new Array(std::move(a));
}

Value::Value(const Value& other) : wide_(Kind::kNull) {
  Walk::CopyTree(other, *this);
}

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

void Value::Destroy() noexcept {
  std::vector<Value> later;
  Walk::Release(*this, 0, later);
  while (!later.empty()) {
    Value next = std::move(later.back());
    later.pop_back();
    Walk::Release(next, 0, later);
  }
}

void Value::SetString(std::string_view s) {
  if (s.size() <= kInlineLength) {
    short_.kind = Kind::kString;
    short_.length = static_cast<std::uint8_t>(s.size());
    if (!s.empty()) std::memcpy(short_.text, s.data(), s.size());
    return;
  }
  if (s.size() > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("json: string too long");
  wide_.text = new char[s.size()];
  std::memcpy(wide_.text, s.data(), s.size());
  wide_.heap_length = static_cast<std::uint32_t>(s.size());
  wide_.kind = Kind::kString;
  wide_.length = kOnHeap;
}

double Value::as_double() const {
  assert(is_number());
  return is_int() ? static_cast<double>(wide_.integer) : wide_.real;
}

bool Value::bool_or(bool fallback) const {
  return is_bool() ? as_bool() : fallback;
}

std::int64_t Value::int_or(std::int64_t fallback) const {
  return is_int() ? as_int() : fallback;
}

std::string_view Value::string_or(std::string_view fallback) const {
  return is_string() ? as_string() : fallback;
}

const Value* Value::Find(std::string_view key) const {
  return is_object() ? as_object().Find(key) : nullptr;
}

Value* Value::Find(std::string_view key) {
  return is_object() ? as_object().Find(key) : nullptr;
}

const Value* Value::FindPath(std::initializer_list<std::string_view> path) const {
  const Value* at = this;
  for (std::string_view key : path) {
    at = at->Find(key);
    if (!at) return nullptr;
  }
  return at;
}

Value* Value::FindPath(std::initializer_list<std::string_view> path) {
  return const_cast<Value*>(std::as_const(*this).FindPath(path));
}

const Value& Value::operator[](std::string_view key) const {
  static const Value null;
  const Value* found = Find(key);
  return found ? *found : null;
}

Value& Value::operator[](std::string_view key) {
  if (is_null()) *this = Value(Object());
  return as_object()[key];
}

std::size_t Value::size() const {
  if (is_array()) return as_array().size();
  if (is_object()) return as_object().size();
  return 0;
}

bool Value::operator==(const Value& other) const {
  return Walk::Equal(*this, other);
}

std::string_view GoKindName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "array";
    case Value::Kind::kObject:
      return "object";
    case Value::Kind::kNull:
      break;
  }
  return "null";
}

}  // namespace flyball::json
