// Fields: a plain struct and the list of its JSON fields, which is all the SDK needs to read it, write it and
// describe it in a CustomResourceDefinition.
//
//   struct NetworkSpec {
//     std::string cidr;
//     std::optional<int> vlan;
//     static constexpr auto kFields =
//         Fields(Field{"cidr", &NetworkSpec::cidr, {.required = true, .description = "the address range"}},
//                Field{"vlan", &NetworkSpec::vlan, {.minimum = 1, .maximum = 4094}});
//   };
//
// Field types: bool, integers, double, std::string, api::Time, api::Quantity, api::IntOrString, json::Value
// (any JSON), std::optional, std::vector, std::map<std::string, ...> of those, other structs with kFields,
// and any type with its own FromJson/ToJson found by argument-dependent lookup: the API's own structs.
//
// Written is what Go's omitempty writes: empty strings, lists and maps, zero numbers, false and empty
// optionals are left out, except required fields.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/values/int_or_string.h"
#include "api/values/quantity.h"
#include "api/values/time.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball {

// What a CustomResourceDefinition says about a field beyond its type. The server checks it; FromJson does
// not.
struct FieldRules {
  bool required = false;
  const char* description = nullptr;
  const char* pattern = nullptr;
  const char* format = nullptr;
  const char* default_json = nullptr;  // JSON text
  const char* one_of = nullptr;        // allowed strings, separated by '|'
  std::optional<std::int64_t> minimum = std::nullopt, maximum = std::nullopt;
  const char* rule = nullptr;  // one CEL rule (x-kubernetes-validations)
  std::optional<std::int64_t> min_length = std::nullopt, max_length = std::nullopt;  // of strings
  std::optional<std::int64_t> min_items = std::nullopt, max_items = std::nullopt;    // of lists
  // How apply sees a list: null is as a whole; "set"; with list_keys ("type", "port|protocol") by those
  // members.
  const char* list_type = nullptr;
  const char* list_keys = nullptr;
};

template <typename S, typename M>
struct Field {
  constexpr Field(const char* n, M S::*m, FieldRules r = {}) : name(n), member(m), rules(r) {}
  const char* name;
  M S::*member;
  FieldRules rules;
};

template <typename... F>
constexpr auto Fields(F... fields) {
  return std::tuple<F...>(fields...);
}

template <typename T>
concept HasFields = requires {
  T::kFields;
};

template <HasFields T>
Status FromJson(const json::Value& value, T* out);
template <HasFields T>
json::Value ToJson(const T& object);

namespace fields_internal {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsStringMap : std::false_type {};
template <typename T, typename C, typename A>
struct IsStringMap<std::map<std::string, T, C, A>> : std::true_type {};

inline const char* KindName(const json::Value& value) {
  using Kind = json::Value::Kind;
  switch (value.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kDouble:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
  }
  return "value";
}

inline Unexpected WrongType(const json::Value& value, const char* want) {
  return Unexpected(BadRequest(std::string("cannot decode ") + KindName(value) + " into " + want));
}

template <typename T>
Status Decode(const json::Value& value, T* out);

template <typename T>
Status DecodeInteger(const json::Value& value, T* out) {
  if (!value.is_int()) return WrongType(value, "integer");
  const std::int64_t n = value.as_int();
  if (n < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
      (sizeof(T) < sizeof(n) && n > static_cast<std::int64_t>(std::numeric_limits<T>::max())))
    return Unexpected(BadRequest("number " + std::to_string(n) + " does not fit the field"));
  *out = static_cast<T>(n);
  return {};
}

template <typename T>
Status DecodeList(const json::Value& value, std::vector<T>* out) {
  if (!value.is_array()) return WrongType(value, "array");
  out->clear();
  out->reserve(value.size());
  for (const json::Value& element : value.as_array()) {
    T item{};
    if (Status s = Decode(element, &item); !s)
      return Unexpected(s.error().Annotate("[" + std::to_string(out->size()) + "]"));
    out->push_back(std::move(item));
  }
  return {};
}

template <typename Map>
Status DecodeMap(const json::Value& value, Map* out) {
  if (!value.is_object()) return WrongType(value, "map");
  out->clear();
  for (const auto& [key, element] : value.as_object())
    if (Status s = Decode(element, &(*out)[key]); !s) return Unexpected(s.error().Annotate(key));
  return {};
}

// A value written as a string and read by a parser of its own.
template <typename T>
Status DecodeText(const json::Value& value, Result<T> (*parse)(std::string_view), T* out) {
  if (!value.is_string()) return WrongType(value, "string");
  auto parsed = parse(value.as_string());
  if (!parsed) return Unexpected(parsed.error());
  *out = std::move(*parsed);
  return {};
}

template <typename T>
Status Decode(const json::Value& value, T* out) {
  if constexpr (std::is_same_v<T, json::Value>) {
    *out = value;
    return {};
  } else if (value.is_null()) {
    *out = T{};
    return {};
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_bool()) return WrongType(value, "bool");
    *out = value.as_bool();
    return {};
  } else if constexpr (std::is_integral_v<T>) {
    return DecodeInteger(value, out);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return WrongType(value, "number");
    *out = static_cast<T>(value.as_double());
    return {};
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) return WrongType(value, "string");
    *out = std::string(value.as_string());
    return {};
  } else if constexpr (std::is_same_v<T, api::Time>) {
    return DecodeText(value, &api::ParseTime, out);
  } else if constexpr (std::is_same_v<T, api::Quantity>) {
    return DecodeText(value, &api::Quantity::Parse, out);
  } else if constexpr (std::is_same_v<T, api::IntOrString>) {
    *out = api::IntOrString::From(value);
    return {};
  } else if constexpr (IsOptional<T>::value) {
    return Decode(value, &out->emplace());
  } else if constexpr (IsVector<T>::value) {
    return DecodeList(value, out);
  } else if constexpr (IsStringMap<T>::value) {
    return DecodeMap(value, out);
  } else {
    return FromJson(value, out);
  }
}

template <typename T>
json::Value Encode(const T& field) {
  if constexpr (std::is_same_v<T, json::Value>) {
    return field;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return json::Value(static_cast<long long>(field));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return json::Value(field);
  } else if constexpr (std::is_same_v<T, api::Time>) {
    return field.IsZero() ? json::Value() : json::Value(api::FormatTime(field));
  } else if constexpr (std::is_same_v<T, api::Quantity>) {
    return json::Value(field.ToString());
  } else if constexpr (std::is_same_v<T, api::IntOrString>) {
    return field.ToJson();
  } else if constexpr (IsOptional<T>::value) {
    return field ? Encode(*field) : json::Value();
  } else if constexpr (IsVector<T>::value) {
    json::Array array;
    array.reserve(field.size());
    for (const auto& element : field) array.push_back(Encode(element));
    return json::Value(std::move(array));
  } else if constexpr (IsStringMap<T>::value) {
    json::Object object;
    for (const auto& [key, element] : field) object.Append(key, Encode(element));
    return json::Value(std::move(object));
  } else {
    return ToJson(field);
  }
}

// True if `field` is what Go's omitempty leaves out. Nested structs count as empty when they write nothing.
template <typename T>
bool IsEmpty(const T& field, const json::Value& encoded) {
  if constexpr (IsOptional<T>::value)
    return !field;
  else if constexpr (std::is_arithmetic_v<T>)
    return field == T{};
  else if constexpr (std::is_same_v<T, std::string>)
    return field.empty();
  else if constexpr (std::is_same_v<T, json::Value>)
    return field.is_null();
  else
    return encoded.is_null() || (encoded.size() == 0 && (encoded.is_object() || encoded.is_array()));
}

}  // namespace fields_internal

// Unknown members are ignored, absent ones leave their field as it is, null empties it. BadRequest naming the
// field when a member is of the wrong type.
template <HasFields T>
Status FromJson(const json::Value& value, T* out) {
  if (!value.is_object()) return fields_internal::WrongType(value, "object");
  Status status;
  const auto decode = [&](const auto& field) {
    const json::Value* member = value.Find(field.name);
    if (!member) return true;
    if (Status s = fields_internal::Decode(*member, &(out->*field.member)); !s) {
      status = Unexpected(s.error().Annotate(field.name));
      return false;
    }
    return true;
  };
  std::apply([&](const auto&... field) { (void)(decode(field) && ...); }, T::kFields);
  return status;
}

template <HasFields T>
json::Value ToJson(const T& object) {
  json::Object out;
  const auto encode = [&](const auto& field) {
    json::Value encoded = fields_internal::Encode(object.*field.member);
    if (field.rules.required || !fields_internal::IsEmpty(object.*field.member, encoded))
      out.Append(field.name, std::move(encoded));
  };
  std::apply([&](const auto&... field) { (encode(field), ...); }, T::kFields);
  return json::Value(std::move(out));
}

}  // namespace flyball
