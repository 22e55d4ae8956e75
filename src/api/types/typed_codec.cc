#include "api/types/typed_codec.h"

#include <limits>

#include "api/values/base64.h"
#include "json/json.h"

namespace flyball::api::codec {
namespace {

std::string_view Described(const json::Value& value) {
  using Kind = json::Value::Kind;
  switch (value.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInt:
    case Kind::kDouble:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "a value";
}

// Members usually come in the order of the table, so the search goes on where the last one was found.
std::size_t FindName(std::span<const std::string_view> names, std::string_view name, std::size_t from) {
  for (std::size_t i = from; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  for (std::size_t i = 0; i < from; ++i) {
    if (names[i] == name) return i;
  }
  return names.size();
}

bool ReadMoment(Decoder& decoder, const json::Value& value, Result<Time> (*parse)(std::string_view),
                Time* out) {
  if (value.is_null()) return true;
  if (!value.is_string()) return decoder.WrongType(value, "a time");
  Result<Time> time = parse(value.as_string());
  if (!time) return decoder.Fail(time.error().message());
  *out = *time;
  return true;
}

}  // namespace

bool Decoder::ReadObject(const json::Value& value, std::span<const std::string_view> names, void* out,
                         ReadField read) {
  if (!value.is_object()) return WrongType(value, "an object");
  std::size_t next = 0;
  for (const auto& [name, member] : value.as_object()) {
    const std::size_t field = FindName(names, name, next);
    if (field == names.size()) continue;
    next = field + 1;
    if (member.is_null()) continue;
    if (!read(*this, field, member, out)) return In(name);
  }
  return true;
}

bool Decoder::WrongType(const json::Value& value, std::string_view wanted) {
  return Fail(std::string("expected ").append(wanted).append(", found ").append(Described(value)));
}

bool Decoder::Fail(std::string message) {
  message_ = std::move(message);
  return false;
}

bool Decoder::In(std::string_view member) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_.insert(0, std::string(member).append(joined ? "" : "."));
  return false;
}

bool Decoder::At(std::size_t index) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_.insert(0, "[" + std::to_string(index) + (joined ? "]" : "]."));
  return false;
}

Status Decoder::Finish(bool ok, std::string_view type) const {
  if (ok) return {};
  std::string text = std::string("cannot decode ").append(type).append(": ");
  if (!path_.empty()) text.append(path_).append(": ");
  return Unexpected(BadRequest(text.append(message_)));
}

bool Decoder::CheckKind(const json::Value& value, std::string_view kind) {
  const json::Value* given = value.Find("kind");
  if (given == nullptr || given->string_or("").empty() || given->as_string() == kind) return true;
  return Fail(std::string("the object is a ").append(given->as_string()));
}

bool ReadValue(Decoder& decoder, const json::Value& value, std::string* out) {
  if (!value.is_string()) return decoder.WrongType(value, "a string");
  *out = value.as_string();
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, bool* out) {
  if (!value.is_bool()) return decoder.WrongType(value, "a boolean");
  *out = value.as_bool();
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, std::int32_t* out) {
  std::int64_t wide = 0;
  if (!ReadValue(decoder, value, &wide)) return false;
  using Limits = std::numeric_limits<std::int32_t>;
  if (wide < Limits::min() || wide > Limits::max())
    return decoder.Fail(std::to_string(wide) + " does not fit 32 bits");
  *out = static_cast<std::int32_t>(wide);
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, std::int64_t* out) {
  if (!value.is_int()) return decoder.WrongType(value, "an integer");
  *out = value.as_int();
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, double* out) {
  if (!value.is_number()) return decoder.WrongType(value, "a number");
  *out = value.as_double();
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, Quantity* out) {
  std::string number;
  if (value.is_int()) number = std::to_string(value.as_int());
  if (number.empty() && !value.is_string()) return decoder.WrongType(value, "a quantity");
  Result<Quantity> quantity = Quantity::Parse(number.empty() ? value.as_string() : number);
  if (!quantity) return decoder.Fail(quantity.error().message());
  *out = std::move(*quantity);
  return true;
}

bool ReadValue(Decoder& decoder, const json::Value& value, IntOrString* out) {
  if (!value.is_int() && !value.is_string()) return decoder.WrongType(value, "an integer or a string");
  *out = IntOrString::From(value);
  return true;
}

bool ReadValue(Decoder&, const json::Value& value, json::Value* out) {
  *out = value;
  return true;
}

bool Bytes::Read(Decoder& decoder, const json::Value& value, std::string* out) {
  if (!value.is_string()) return decoder.WrongType(value, "base64");
  std::size_t bad = 0;
  return DecodeBase64(value.as_string(), *out, bad) || decoder.Fail("not base64");
}

json::Value Bytes::Write(const std::string& value) {
  return EncodeBase64(value);
}

bool JsonText::Read(Decoder&, const json::Value& value, std::string* out) {
  *out = json::Write(value);
  return true;
}
json::Value JsonText::Write(const std::string& value) {
  auto parsed = json::Parse(value);
  return parsed ? std::move(*parsed) : json::Value();
}

bool Moment::Read(Decoder& decoder, const json::Value& value, Time* out) {
  return ReadMoment(decoder, value, &ParseTime, out);
}

json::Value Moment::Write(const Time& value) {
  return value.IsZero() ? json::Value() : json::Value(FormatTime(value));
}

bool MicroMoment::Read(Decoder& decoder, const json::Value& value, Time* out) {
  return ReadMoment(decoder, value, &ParseMicroTime, out);
}

json::Value MicroMoment::Write(const Time& value) {
  return value.IsZero() ? json::Value() : json::Value(FormatMicroTime(value));
}

}  // namespace flyball::api::codec
