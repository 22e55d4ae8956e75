// How the generated structs (api/types/*.h) are read from JSON and written to it. Included by generated .cc
// files only.
//
// A codec is a type with two functions: Read(Decoder&, value, T*) and Write(value): Plain for what has one
// natural form, Bytes, JsonText, Moment and MicroMoment for C++ types that JSON shows differently, List and
// Map around another codec. Templates are kept few: every struct there is goes through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/types/optional.h"
#include "api/values/int_or_string.h"
#include "api/values/quantity.h"
#include "api/values/time.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api::codec {

// Reads one object, and remembers the first thing that is wrong with it and where. Confined to one thread.
class Decoder {
 public:
  using ReadField = bool (*)(Decoder&, std::size_t field, const json::Value& value, void* out);

  // Calls `read` for every member of `value` whose name is among `names`; others are skipped, null ones too.
  // False if value is no object or a member is wrong.
  bool ReadObject(const json::Value& value, std::span<const std::string_view> names, void* out,
                  ReadField read);

  // "expected a string, found a number"; always false.
  bool WrongType(const json::Value& value, std::string_view wanted);
  bool Fail(std::string message);
  // Prepends where the failure happened, from the inside out; always false.
  bool In(std::string_view member);
  bool At(std::size_t index);

  // BadRequest: `cannot decode Pod: spec.containers[0].name: expected a string, found a number`.
  Status Finish(bool ok, std::string_view type) const;
  // For kinds: also false if the object says it is of another kind.
  bool CheckKind(const json::Value& value, std::string_view kind);

 private:
  std::string path_, message_;
};

bool ReadValue(Decoder& decoder, const json::Value& value, std::string* out);
bool ReadValue(Decoder& decoder, const json::Value& value, bool* out);
bool ReadValue(Decoder& decoder, const json::Value& value, std::int32_t* out);
bool ReadValue(Decoder& decoder, const json::Value& value, std::int64_t* out);
bool ReadValue(Decoder& decoder, const json::Value& value, double* out);
bool ReadValue(Decoder& decoder, const json::Value& value, Quantity* out);
bool ReadValue(Decoder& decoder, const json::Value& value, IntOrString* out);
bool ReadValue(Decoder& decoder, const json::Value& value, json::Value* out);

inline json::Value ToJson(const Quantity& value) {
  return value.ToString();
}
inline json::Value ToJson(const IntOrString& value) {
  return value.ToJson();
}
// So that lists and maps of what JSON has itself are written like those of structs.
inline json::Value ToJson(const json::Value& value) {
  return value;
}
inline json::Value ToJson(const std::string& value) {
  return value;
}
inline json::Value ToJson(std::int32_t value) {
  return value;
}
inline json::Value ToJson(std::int64_t value) {
  return value;
}

// Makes it as if just constructed. Cheaper to compile than an assignment.
template <typename T>
void Renew(T* object) {
  std::destroy_at(object);
  std::construct_at(object);
}

struct Plain {
  template <typename T>
  static bool Read(Decoder& decoder, const json::Value& value, T* out) {
    return ReadValue(decoder, value, out);
  }
  template <typename T>
  static json::Value Write(const T& value) {
    return ToJson(value);
  }
};

struct Bytes {  // base64 in JSON
  static bool Read(Decoder& decoder, const json::Value& value, std::string* out);
  static json::Value Write(const std::string& value);
};

struct JsonText {  // any JSON, kept as its text
  static bool Read(Decoder& decoder, const json::Value& value, std::string* out);
  static json::Value Write(const std::string& value);
};

struct Moment {
  static bool Read(Decoder& decoder, const json::Value& value, Time* out);
  static json::Value Write(const Time& value);
};

struct MicroMoment {
  static bool Read(Decoder& decoder, const json::Value& value, Time* out);
  static json::Value Write(const Time& value);
};

template <typename Element>
struct List {
  template <typename T>
  static bool Read(Decoder& decoder, const json::Value& value, std::vector<T>* out) {
    if (!value.is_array()) return decoder.WrongType(value, "a list");
    std::vector<T>(value.size()).swap(*out);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        // Its elements have no address.
        bool element = false;
        if (!Element::Read(decoder, value.as_array()[i], &element)) return decoder.At(i);
        (*out)[i] = element;
      } else {
        if (!Element::Read(decoder, value.as_array()[i], &(*out)[i])) return decoder.At(i);
      }
    }
    return true;
  }
  // An empty list that has to be written is null, as Go's nil slice is.
  template <typename T>
  static json::Value Write(const std::vector<T>& value) {
    if (value.empty()) return {};
    json::Array out;
    out.reserve(value.size());
    for (const T& item : value) out.push_back(Element::Write(item));
    return out;
  }
};

template <typename Element>
struct Map {
  template <typename T>
  static bool Read(Decoder& decoder, const json::Value& value, std::map<std::string, T>* out) {
    if (!value.is_object()) return decoder.WrongType(value, "an object");
    for (const auto& [key, item] : value.as_object()) {
      if (!Element::Read(decoder, item, &(*out)[key])) return decoder.In(key);
    }
    return true;
  }
  template <typename T>
  static json::Value Write(const std::map<std::string, T>& value) {
    if (value.empty()) return {};
    json::Object out;
    out.Reserve(value.size());
    for (const auto& [key, item] : value) out.Append(key, Element::Write(item));
    return out;
  }
};

}  // namespace flyball::api::codec
