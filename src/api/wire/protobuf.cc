#include "api/wire/protobuf.h"

#include <array>
#include <bit>
#include <utility>

#include "api/schema/decode.h"
#include "api/schema/zero_value.h"
#include "api/values/base64.h"
#include "api/values/duration.h"
#include "api/values/time.h"
#include "base/values/protobuf_wire.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kMagic("k8s\0", 4);
// Only types that contain themselves get deeper than a few dozen levels.
constexpr int kMaxMessageDepth = 500;

bool IsUtf8(std::string_view s) {
  std::size_t i = 0;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(s[at]); };
  while (i < s.size()) {
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || i + length > s.size()) return false;
    for (std::size_t j = 1; j < length; ++j) {
      if ((byte(i + j) & 0xC0) != 0x80) return false;
    }
    const unsigned char second = byte(i + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    if (overlong || outside) return false;
    i += length;
  }
  return true;
}

// Fields of one (possibly embedded) message: those whose numbers begin with what was entered already.
class FieldFinder {
 public:
  FieldFinder(const TypeInfo& type, std::array<std::uint8_t, 3> entered, std::size_t depth)
      : type_(type), entered_(entered), depth_(depth) {}

  // A field of that number, or one inside the embedded message of that number; null if there is none. Looks
  // on from the last one found: fields mostly come in order.
  const FieldInfo* Find(std::uint32_t number) {
    const std::size_t count = type_.fields.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = last_ + i < count ? last_ + i : last_ + i - count;
      const FieldInfo& field = type_.fields[at];
      if (field.proto[depth_] != number || !Inside(field)) continue;
      last_ = at;
      return &field;
    }
    return nullptr;
  }

  bool IsEmbedded(const FieldInfo& field) const {
    return depth_ + 1 < field.proto.size() && field.proto[depth_ + 1] != 0;
  }

 private:
  bool Inside(const FieldInfo& field) const {
    for (std::size_t i = 0; i < depth_; ++i) {
      if (field.proto[i] != entered_[i]) return false;
    }
    return true;
  }

  const TypeInfo& type_;
  std::array<std::uint8_t, 3> entered_;
  std::size_t depth_;
  std::size_t last_ = 0;
};

constexpr const char* kWrongWireType = "proto: wrong wireType";

// One walk over one message. Every Read returns false after a failure, whose text is then in error_.
class Decoder {
 public:
  bool ReadMessage(const TypeInfo& type, std::string_view data, Value& out) {
    if (++depth_ > kMaxMessageDepth) return Fail("protobuf message nested too deeply");
    if (!out.is_object()) out = json::Object{};
    const bool ok = ReadFields(type, data, {}, 0, out.as_object());
    --depth_;
    return ok;
  }
  const std::string& error() const { return error_; }

 private:
  bool ReadFields(const TypeInfo& type, std::string_view data, std::array<std::uint8_t, 3> entered,
                  std::size_t depth, json::Object& out) {
    WireReader reader(data);
    FieldFinder finder(type, entered, depth);
    while (reader.NextField()) {
      const FieldInfo* field = finder.Find(reader.number());
      if (field == nullptr) {
        reader.Skip();
      } else if (finder.IsEmbedded(*field)) {
        entered[depth] = field->proto[depth];
        if (!ReadEmbedded(type, reader, entered, depth + 1, out)) return false;
      } else if (!ReadField(*field->type, reader, out[field->name])) {
        return NameField(*field, reader.type());
      }
    }
    return reader.ok() || Malformed();
  }

  bool ReadEmbedded(const TypeInfo& type, WireReader& reader, std::array<std::uint8_t, 3> entered,
                    std::size_t depth, json::Object& out) {
    if (reader.type() != WireType::kBytes) return WrongWireType();
    return ReadFields(type, reader.Bytes(), entered, depth, out);
  }

  bool ReadField(const TypeInfo& type, WireReader& reader, Value& out) {
    if (type.kind == TypeKind::kList) return ReadItem(*type.element, reader, out);
    if (type.kind == TypeKind::kMap) return ReadEntry(*type.element, reader, out);
    return ReadValue(type, reader, out);
  }

  bool ReadItem(const TypeInfo& type, WireReader& reader, Value& out) {
    if (!out.is_array()) out = json::Array{};
    if (IsNumber(type) && reader.type() == WireType::kBytes)
      return ReadPacked(type, reader.Bytes(), out.as_array());
    return ReadValue(type, reader, out.as_array().emplace_back());
  }

  static bool IsNumber(const TypeInfo& type) {
    return type.kind == TypeKind::kInt32 || type.kind == TypeKind::kInt64 || type.kind == TypeKind::kBool ||
           type.kind == TypeKind::kFloat64;
  }

  bool ReadPacked(const TypeInfo& type, std::string_view data, json::Array& out) {
    WireReader reader(data);
    while (reader.ok() && !reader.AtEnd()) {
      out.push_back(type.kind == TypeKind::kFloat64 ? Value(std::bit_cast<double>(reader.Fixed64()))
                                                    : NumberOf(type, reader.Varint()));
    }
    return reader.ok() || Malformed();
  }

  bool ReadEntry(const TypeInfo& element, WireReader& reader, Value& out) {
    if (reader.type() != WireType::kBytes) return WrongWireType();
    if (!out.is_object()) out = json::Object{};
    WireReader entry(reader.Bytes());
    std::string_view key;
    Value value;
    while (entry.NextField()) {
      if (entry.number() == 1 && entry.type() == WireType::kBytes) {
        key = entry.Bytes();
      } else if (entry.number() == 2) {
        if (!ReadMapValue(element, entry, value)) return false;
      } else {
        entry.Skip();
      }
    }
    if (!entry.ok()) return Malformed();
    if (!IsUtf8(key)) return Fail("invalid UTF-8 in a map key");
    if (value.is_null()) value = EmptyValue(element);
    out.as_object().Set(key, std::move(value));
    return true;
  }

  // What Go makes of an entry that has a key only: unlike a zero value, never nil.
  static Value EmptyValue(const TypeInfo& element) {
    if (element.kind == TypeKind::kBytes) return "";
    if (element.kind == TypeKind::kList) return json::Array{};
    return ZeroValue(element);
  }

  // A list cannot be a map's value in protobuf: it is wrapped in a message, {1 items}.
  bool ReadMapValue(const TypeInfo& element, WireReader& reader, Value& out) {
    if (element.kind != TypeKind::kList) return ReadValue(element, reader, out);
    if (reader.type() != WireType::kBytes) return WrongWireType();
    WireReader items(reader.Bytes());
    if (!out.is_array()) out = json::Array{};
    while (items.NextField()) {
      if (items.number() != 1) {
        items.Skip();
      } else if (!ReadItem(*element.element, items, out)) {
        return false;
      }
    }
    return items.ok() || Malformed();
  }

  static Value NumberOf(const TypeInfo& type, std::uint64_t varint) {
    if (type.kind == TypeKind::kBool) return varint != 0;
    if (type.kind == TypeKind::kInt32) return static_cast<std::int32_t>(varint);
    return static_cast<long long>(varint);
  }

  bool ReadValue(const TypeInfo& type, WireReader& reader, Value& out) {
    switch (type.kind) {
      case TypeKind::kBool:
      case TypeKind::kInt32:
      case TypeKind::kInt64:
        if (reader.type() != WireType::kVarint) return WrongWireType();
        out = NumberOf(type, reader.Varint());
        return reader.ok() || Malformed();
      case TypeKind::kFloat64:
        if (reader.type() != WireType::kFixed64) return WrongWireType();
        out = std::bit_cast<double>(reader.Fixed64());
        return reader.ok() || Malformed();
      default:
        break;
    }
    if (reader.type() != WireType::kBytes) return WrongWireType();
    const std::string_view data = reader.Bytes();
    return reader.ok() ? ReadBytes(type, data, out) : Malformed();
  }

  bool ReadBytes(const TypeInfo& type, std::string_view data, Value& out) {
    switch (type.kind) {
      case TypeKind::kString:
        return ReadString(data, out);
      case TypeKind::kBytes:
        out = EncodeBase64(data);
        return true;
      case TypeKind::kTime:
      case TypeKind::kMicroTime:
        return ReadTime(data, type.kind == TypeKind::kMicroTime, out);
      case TypeKind::kDuration:
        return ReadDuration(data, out);
      case TypeKind::kQuantity:
        return ReadQuantity(data, out);
      case TypeKind::kIntOrString:
        return ReadIntOrString(data, out);
      case TypeKind::kRaw:
        return ReadRaw(data, out);
      case TypeKind::kAny:
        return ReadAny(type, data, out);
      default:
        return ReadMessage(type, data, out);
    }
  }

  bool ReadString(std::string_view data, Value& out) {
    if (!IsUtf8(data)) return Fail("invalid UTF-8 in a string");
    out = data;
    return true;
  }

  bool ReadTime(std::string_view data, bool micro, Value& out) {
    out = nullptr;
    if (data.empty()) return true;  // Go's zero time
    Time time{0, 0};
    WireReader reader(data);
    while (reader.NextField()) {
      if (reader.type() != WireType::kVarint || reader.number() > 2) {
        reader.Skip();
      } else if (reader.number() == 1) {
        time.seconds = static_cast<std::int64_t>(reader.Varint());
      } else {
        time.nanos = static_cast<std::int32_t>(reader.Varint());
      }
    }
    constexpr std::int64_t kEndOf9999 = 253402300799;
    constexpr std::int32_t kMaxNanos = 999'999'999;
    const bool sane = time.seconds >= Time::kZeroSeconds && time.seconds <= kEndOf9999 && time.nanos >= 0 &&
                      time.nanos <= kMaxNanos;
    if (!reader.ok() || !sane) return Malformed();
    out = micro ? FormatMicroTime(time) : FormatTime(time);
    return true;
  }

  bool ReadDuration(std::string_view data, Value& out) {
    std::int64_t nanos = 0;
    WireReader reader(data);
    while (reader.NextField()) {
      if (reader.number() == 1 && reader.type() == WireType::kVarint) {
        nanos = static_cast<std::int64_t>(reader.Varint());
      } else {
        reader.Skip();
      }
    }
    out = FormatDuration(Duration(nanos));
    return reader.ok() || Malformed();
  }

  bool ReadQuantity(std::string_view data, Value& out) {
    std::string_view text = "0";
    if (!ReadOneBytes(data, 1, text)) return false;
    return ReadString(text, out);
  }

  bool ReadIntOrString(std::string_view data, Value& out) {
    std::uint64_t type = 0;
    std::int32_t number = 0;
    std::string_view text;
    WireReader reader(data);
    while (reader.NextField()) {
      if (reader.number() == 1 && reader.type() == WireType::kVarint) {
        type = reader.Varint();
      } else if (reader.number() == 2 && reader.type() == WireType::kVarint) {
        number = static_cast<std::int32_t>(reader.Varint());
      } else if (reader.number() == 3 && reader.type() == WireType::kBytes) {
        text = reader.Bytes();
      } else {
        reader.Skip();
      }
    }
    if (!reader.ok()) return Malformed();
    if (type == 1) return ReadString(text, out);
    out = number;
    return true;
  }

  // RawExtension, FieldsV1 and JSON: {1 raw}, the raw bytes being JSON.
  bool ReadRaw(std::string_view data, Value& out) {
    std::string_view raw;
    if (!ReadOneBytes(data, 1, raw)) return false;
    if (raw.empty()) {
      out = nullptr;
      return true;
    }
    Result<Value> parsed = json::Parse(raw);
    if (!parsed) return Fail(parsed.error().message());
    out = std::move(*parsed);
    return true;
  }

  // JSON itself, or a schema or something else.
  bool ReadAny(const TypeInfo& type, std::string_view data, Value& out) {
    if (type.fields.empty() || type.FindField("raw") != nullptr) return ReadRaw(data, out);
    Value parts;
    if (!ReadMessage(type, data, parts)) return false;
    for (const char* list : {"jSONSchemas", "property"}) {
      if (Value* items = parts.Find(list); items != nullptr && items->size() > 0) {
        out = std::move(*items);
        return true;
      }
    }
    if (Value* schema = parts.Find("schema")) {
      out = std::move(*schema);
    } else if (type.FindField("allows") != nullptr) {
      out = parts["allows"].bool_or(false);
    } else {
      out = nullptr;
    }
    return true;
  }

  bool ReadOneBytes(std::string_view data, std::uint32_t number, std::string_view& out) {
    WireReader reader(data);
    while (reader.NextField()) {
      if (reader.number() == number && reader.type() == WireType::kBytes) {
        out = reader.Bytes();
      } else {
        reader.Skip();
      }
    }
    return reader.ok() || Malformed();
  }

  bool Malformed() { return Fail("unexpected EOF"); }
  bool WrongWireType() { return Fail(kWrongWireType); }
  // Says of which field the type is wrong, by its name in Go.
  bool NameField(const FieldInfo& field, WireType type) {
    if (error_ != kWrongWireType) return false;
    std::string name(field.name);
    if (name == "metadata") name = field.type->name.ends_with("ListMeta") ? "ListMeta" : "ObjectMeta";
    if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    error_ += " = " + std::to_string(static_cast<int>(type)) + " for field " + name;
    return false;
  }
  bool Fail(std::string_view text) {
    if (error_.empty()) error_ = text;
    return false;
  }

  int depth_ = 0;
  std::string error_;
};

}  // namespace

Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view body) {
  if (!body.starts_with(kMagic)) {
    return Unexpected(
        BadRequest("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"));
  }
  ProtobufEnvelope envelope;
  WireReader reader(body.substr(kMagic.size()));
  while (reader.NextField()) {
    if (reader.type() != WireType::kBytes || reader.number() > 4) {
      reader.Skip();
      continue;
    }
    const std::string_view bytes = reader.Bytes();
    if (reader.number() == 2) envelope.raw = bytes;
    if (reader.number() == 3) envelope.content_encoding = bytes;
    if (reader.number() == 4) envelope.content_type = bytes;
    if (reader.number() != 1) continue;
    WireReader type(bytes);
    while (type.NextField()) {
      if (type.type() != WireType::kBytes || type.number() > 2) {
        type.Skip();
      } else {
        (type.number() == 1 ? envelope.api_version : envelope.kind) = type.Bytes();
      }
    }
    if (!type.ok()) return Unexpected(BadRequest("unexpected EOF"));
  }
  if (!reader.ok()) return Unexpected(BadRequest("unexpected EOF"));
  return envelope;
}

namespace {

// Quantities arrive as text and are checked like those of JSON.
Result<Value> DecodeInto(Value value, std::string_view message, const TypeInfo& type) {
  Decoder decoder;
  if (!decoder.ReadMessage(type, message, value)) return Unexpected(BadRequest(decoder.error()));
  DecodeContext context;
  FLYBALL_TRY(Decode(type, value, context));
  return value;
}

}  // namespace

Result<Value> DecodeProtobufMessage(std::string_view message, const TypeInfo& type) {
  return DecodeInto(json::Object{}, message, type);
}

Result<Value> DecodeProtobuf(std::string_view body, const TypeInfo& type) {
  FLYBALL_ASSIGN(const ProtobufEnvelope envelope, ReadProtobufEnvelope(body));
  if (!IsUtf8(envelope.kind) || !IsUtf8(envelope.api_version)) {
    return Unexpected(BadRequest("invalid UTF-8 in a type name"));
  }
  return DecodeInto(json::Object{{"kind", envelope.kind}, {"apiVersion", envelope.api_version}}, envelope.raw,
                    type);
}

}  // namespace flyball::api
