// Short ways to read decoded objects: absent, null and zero are the same to most rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/zero_value.h"
#include "api/values/quantity.h"
#include "json/value.h"

namespace flyball::api {

// The elements of a list; none if it is absent.
inline const json::Array& Items(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

// The members of a map; none if it is absent.
inline const json::Object& Entries(const json::Value& map) {
  static const json::Object kNone;
  return map.is_object() ? map.as_object() : kNone;
}

// A member read from an object that is being changed: unlike operator[], never adds it.
inline const json::Value& Get(const json::Value& object, std::string_view key) {
  return object[key];
}

// A string member; "" if it is absent.
inline std::string_view Text(const json::Value& object, std::string_view key) {
  return object[key].string_or({});
}

inline std::int64_t Number(const json::Value& object, std::string_view key, std::int64_t fallback = 0) {
  return object[key].int_or(fallback);
}

// True if the member is there and not null: a pointer that is set.
inline bool Has(const json::Value& object, std::string_view key) {
  return !object[key].is_null();
}

inline bool Contains(const json::Value& list, std::string_view item) {
  for (const json::Value& value : Items(list)) {
    if (value.string_or({}) == item) return true;
  }
  return false;
}

// A quantity as text; zero if it is none.
inline Quantity QuantityOf(const json::Value& value) {
  const Result<Quantity> parsed = Quantity::Parse(value.string_or("0"));
  return parsed ? *parsed : Quantity();
}

// A member of a map or object, made if absent, for defaults.
inline void SetIfAbsent(json::Value& object, std::string_view key, json::Value value) {
  if (!Has(object, key)) object[key] = std::move(value);
}

inline void SetIfZero(json::Value& object, std::string_view key, json::Value value) {
  const json::Value* member = object.Find(key);
  if (member == nullptr || IsZero(*member)) object[key] = std::move(value);
}

inline void Remove(json::Value& object, std::string_view key) {
  if (object.is_object()) object.as_object().Erase(key);
}

}  // namespace flyball::api
