#include "cel/values/keyed_list.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "cel/schema/schema.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNotScalar{"listSet operations are only supported on lists of scalar values"};

std::string ScalarKey(Arena& arena, const Value& value) {
  std::string key = std::to_string(static_cast<int>(value.kind())) + ':' + DisplayText(arena, value);
  return std::to_string(key.size()) + ':' + key;
}

// What an element is known by in the list.
std::string KeyOf(Arena& arena, const Value& element, const Schema& schema) {
  if (schema.list_type == ListType::kSet) return ScalarKey(arena, element);
  std::string key;
  for (const std::string& name : schema.map_keys) {
    Value part;
    if (!element.Is(ValueKind::kMap) ||
        !MapFind(arena, element, EscapeFieldName(name).value_or(name), &part) || part.IsError())
      part = Value();
    key += ScalarKey(arena, part);
  }
  return key;
}

bool CannotBeInSet(const Value& element, const Schema& schema) {
  return schema.list_type == ListType::kSet && (element.Is(ValueKind::kList) || element.Is(ValueKind::kMap));
}

}  // namespace

Value EqualKeyedLists(Arena& arena, const Value& a, const Value& b) {
  const Schema& schema = *a.keyed_by();
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < ListSize(a); ++i) {
    const Value element = ListElement(arena, a, i);
    if (CannotBeInSet(element, schema)) return Value::Error(&kNotScalar);
    known[KeyOf(arena, element, schema)] = i;
  }
  std::unordered_map<std::string, bool> seen;
  for (std::size_t i = 0; i < ListSize(b); ++i) {
    const Value element = ListElement(arena, b, i);
    if (CannotBeInSet(element, schema)) return Value::Error(&kNotScalar);
    std::string key = KeyOf(arena, element, schema);
    const auto it = known.find(key);
    if (it == known.end()) return Value::Bool(false);
    if (schema.list_type == ListType::kMap) {
      const Value equal = EqualValues(arena, ListElement(arena, a, it->second), element);
      if (!equal.IsTrue()) return equal;
    }
    seen.emplace(std::move(key), true);
  }
  return Value::Bool(seen.size() == known.size());
}

Value AddKeyedLists(Arena& arena, const Value& a, const Value& b) {
  const Schema& schema = *a.keyed_by();
  std::unordered_map<std::string, std::size_t> known;
  GrowingList result(arena);
  for (std::size_t i = 0; i < ListSize(a); ++i) {
    result.Append(ListElement(arena, a, i));
    if (CannotBeInSet(result.elements[i], schema)) return Value::Error(&kNotScalar);
    known[KeyOf(arena, result.elements[i], schema)] = i;
  }
  for (std::size_t i = 0; i < ListSize(b); ++i) {
    const Value element = ListElement(arena, b, i);
    if (CannotBeInSet(element, schema)) return Value::Error(&kNotScalar);
    std::string key = KeyOf(arena, element, schema);
    const auto it = known.find(key);
    if (it == known.end()) {
      // Elements that come twice are both kept in a map, as upstream does, and once in a set.
      if (schema.list_type == ListType::kSet) known.emplace(std::move(key), result.size);
      result.Append(element);
    } else if (schema.list_type == ListType::kMap) {
      result.elements[it->second] = element;
    }
  }
  return Value::KeyedList(result.elements, result.size, &schema);
}

}  // namespace flyball::cel
