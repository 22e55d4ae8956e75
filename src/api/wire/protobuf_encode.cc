#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/schema/zero_value.h"
#include "api/values/base64.h"
#include "api/values/duration.h"
#include "api/values/time.h"
#include "api/wire/protobuf.h"
#include "base/values/protobuf_wire.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

std::string Encoded(const TypeInfo& type, const Value& value);
void AppendField(const TypeInfo& type, std::uint32_t number, const Value& value, std::string& out);

std::string TimeMessage(const Value& value, bool micro) {
  std::string out;
  const Result<Time> time = micro ? ParseMicroTime(value.string_or("")) : ParseTime(value.string_or(""));
  if (!time || time->IsZero()) return out;
  WireWriter writer(out);
  writer.Varint(1, static_cast<std::uint64_t>(time->seconds));
  writer.Varint(2, static_cast<std::uint64_t>(time->nanos));
  return out;
}

std::string DurationMessage(const Value& value) {
  std::string out;
  const Result<Duration> duration = ParseDuration(value.string_or("0s"));
  WireWriter(out).Varint(1, duration ? static_cast<std::uint64_t>(duration->count()) : 0);
  return out;
}

std::string IntOrStringMessage(const Value& value) {
  std::string out;
  WireWriter writer(out);
  writer.Varint(1, value.is_string() ? 1 : 0);
  writer.Varint(2, static_cast<std::uint64_t>(value.int_or(0)));
  writer.Bytes(3, value.string_or(""));
  return out;
}

std::string OneBytesMessage(std::string_view bytes) {
  std::string out;
  WireWriter(out).Bytes(1, bytes);
  return out;
}

// The reverse of what the decoder makes of a schema or something else.
std::string AnyMessage(const TypeInfo& type, const Value& value) {
  const FieldInfo* schema = type.FindField("schema");
  if (schema == nullptr) return OneBytesMessage(json::Write(value));
  std::string out;
  if (const FieldInfo* allows = type.FindField("allows")) {
    WireWriter(out).Varint(allows->proto[0], value.is_object() || value.bool_or(false));
  }
  if (value.is_object()) AppendField(*schema->type, schema->proto[0], value, out);
  for (const char* name : {"jSONSchemas", "property"}) {
    const FieldInfo* list = type.FindField(name);
    if (list != nullptr && value.is_array()) AppendField(*list->type, list->proto[0], value, out);
  }
  return out;
}

std::string DecodedBytes(const Value& value) {
  std::string bytes;
  std::size_t bad = 0;
  DecodeBase64(value.string_or(""), bytes, bad);
  return bytes;
}

void AppendEntries(const TypeInfo& element, std::uint32_t number, const Value& map, std::string& out) {
  if (!map.is_object()) return;
  for (const auto& [key, value] : map.as_object()) {
    std::string entry;
    WireWriter(entry).Bytes(1, key);
    if (element.kind == TypeKind::kList) {
      std::string items;
      AppendField(element, 1, value, items);
      WireWriter(entry).Bytes(2, items);
    } else {
      AppendField(element, 2, value, entry);
    }
    WireWriter(out).Bytes(number, entry);
  }
}

void AppendField(const TypeInfo& type, std::uint32_t number, const Value& value, std::string& out) {
  WireWriter writer(out);
  switch (type.kind) {
    case TypeKind::kBool:
      return writer.Varint(number, value.bool_or(false));
    case TypeKind::kInt32:
    case TypeKind::kInt64:
      return writer.Varint(number, static_cast<std::uint64_t>(value.int_or(0)));
    case TypeKind::kFloat64:
      return writer.Fixed64(number,
                            std::bit_cast<std::uint64_t>(value.is_number() ? value.as_double() : 0.0));
    case TypeKind::kMap:
      return AppendEntries(*type.element, number, value, out);
    case TypeKind::kList:
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        AppendField(*type.element, number, value.as_array()[i], out);
      }
      return;
    default:
      return writer.Bytes(number, Encoded(type, value));
  }
}

// True if Go would write the field at all: pointers and lists only when set.
bool IsWritten(const FieldInfo& field, const Value* value) {
  if (value != nullptr && !value->is_null()) return true;
  if (field.pointer) return false;
  return field.type->kind != TypeKind::kList && field.type->kind != TypeKind::kMap &&
         field.type->kind != TypeKind::kBytes && field.type->kind != TypeKind::kAny;
}

using FieldOrder = std::vector<const FieldInfo*>;

// The fields that have numbers, by number, those of embedded messages together.
FieldOrder OrderOf(const TypeInfo& type) {
  FieldOrder order;
  for (const FieldInfo& field : type.fields)
    if (field.proto[0] != 0) order.push_back(&field);
  std::stable_sort(order.begin(), order.end(),
                   [](const FieldInfo* a, const FieldInfo* b) { return a->proto < b->proto; });
  return order;
}

// The order of a built-in type, made once for all of them; null for others.
const FieldOrder* BuiltinOrder(const TypeInfo& type) {
  static const auto orders = [] {
    std::unordered_map<const TypeInfo*, FieldOrder> made;
    for (const TypeInfo* builtin : BuiltinTypes()) made.emplace(builtin, OrderOf(*builtin));
    return made;
  }();
  const auto found = orders.find(&type);
  return found == orders.end() ? nullptr : &found->second;
}

// An object's members by the number of their field. Members in the table's order are found at once.
class Members {
 public:
  Members(const TypeInfo& type, const Value& value) : type_(type), members_(type.fields.size(), nullptr) {
    if (!value.is_object()) return;
    std::size_t next = 0;
    for (const auto& [name, member] : value.as_object()) {
      const bool guessed = next < type.fields.size() && type.fields[next].name == name;
      const FieldInfo* field = guessed ? &type.fields[next] : type.FindField(name);
      if (field == nullptr) continue;
      next = Number(*field) + 1;
      members_[next - 1] = &member;
    }
  }
  const Value* Find(const FieldInfo& field) const { return members_[Number(field)]; }

 private:
  std::size_t Number(const FieldInfo& field) const {
    return static_cast<std::size_t>(&field - type_.fields.data());
  }

  const TypeInfo& type_;
  std::vector<const Value*> members_;
};

// The fields in [begin, end), which share their first `depth` numbers; embedded messages as they are met.
std::string Fields(const Members& members, FieldOrder::const_iterator begin, FieldOrder::const_iterator end,
                   std::size_t depth) {
  std::string out;
  while (begin != end) {
    const FieldInfo& field = **begin;
    const std::uint32_t number = field.proto[depth];
    if (depth + 1 < field.proto.size() && field.proto[depth + 1] != 0) {
      const auto rest =
          std::find_if(begin, end, [&](const FieldInfo* f) { return f->proto[depth] != number; });
      WireWriter(out).Bytes(number, Fields(members, begin, rest, depth + 1));
      begin = rest;
      continue;
    }
    ++begin;
    const Value* member = members.Find(field);
    if (!IsWritten(field, member)) continue;
    AppendField(*field.type, number, member != nullptr ? *member : ZeroValue(*field.type), out);
  }
  return out;
}

std::string MessageOf(const TypeInfo& type, const Value& value) {
  const Members members(type, value);
  if (const FieldOrder* order = BuiltinOrder(type)) return Fields(members, order->begin(), order->end(), 0);
  const FieldOrder order = OrderOf(type);
  return Fields(members, order.begin(), order.end(), 0);
}

std::string Encoded(const TypeInfo& type, const Value& value) {
  switch (type.kind) {
    case TypeKind::kString:
      return std::string(value.string_or(""));
    case TypeKind::kBytes:
      return DecodedBytes(value);
    case TypeKind::kTime:
      return TimeMessage(value, false);
    case TypeKind::kMicroTime:
      return TimeMessage(value, true);
    case TypeKind::kDuration:
      return DurationMessage(value);
    case TypeKind::kQuantity:
      return OneBytesMessage(value.string_or("0"));
    case TypeKind::kIntOrString:
      return IntOrStringMessage(value);
    case TypeKind::kRaw:
      return value.is_null() ? std::string() : OneBytesMessage(json::Write(value));
    case TypeKind::kAny:
      return AnyMessage(type, value);
    default:
      return MessageOf(type, value);
  }
}

}  // namespace

std::string EncodeProtobufMessage(const Value& value, const TypeInfo& type) {
  return Encoded(type, value);
}

std::string EncodeProtobuf(const Value& object, const TypeInfo& type) {
  return ProtobufEnvelopeOf(object["apiVersion"].string_or(""), object["kind"].string_or(""),
                            EncodeProtobufMessage(object, type));
}

std::string ProtobufEnvelopeOf(std::string_view api_version, std::string_view kind,
                               std::string_view message) {
  std::string type_meta;
  WireWriter(type_meta).Bytes(1, api_version);
  WireWriter(type_meta).Bytes(2, kind);
  std::string out("k8s\0", 4);
  WireWriter writer(out);
  writer.Bytes(1, type_meta);
  writer.Bytes(2, message);
  writer.Bytes(3, "");
  writer.Bytes(4, "");
  return out;
}

// Whole answers: whatever says its apiVersion and kind, lists of it, and the frames of a watch.
namespace {

constexpr std::string_view kMetaTypes = "io.k8s.apimachinery.pkg.apis.meta.v1.";
constexpr std::string_view kListSuffix = "List";

// Kinds of every group: Status, the discovery documents, metadata alone.
const TypeInfo* MetaType(std::string_view api_version, std::string_view kind) {
  if (api_version != "v1" && api_version != "meta.k8s.io/v1" && api_version != "meta.k8s.io/v1beta1")
    return nullptr;
  return FindType(std::string(kMetaTypes) + std::string(kind));
}

const TypeInfo* AnswerType(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const auto group = slash == std::string_view::npos ? std::string_view{} : api_version.substr(0, slash);
  if (const auto* type = FindKindType(group, api_version.substr(slash + 1), kind)) return type;
  return MetaType(api_version, kind);
}

}  // namespace

std::optional<ProtobufListWriter> ProtobufListWriter::Make(std::string api_version,
                                                           std::string_view item_kind,
                                                           const json::Value& metadata) {
  const TypeInfo* type = AnswerType(api_version, item_kind);
  if (type == nullptr) return std::nullopt;
  ProtobufListWriter list(std::move(api_version), std::string(item_kind), *type);
  WireWriter(list.message_).Bytes(1, EncodeProtobufMessage(metadata, ListMetaType()));
  return list;
}

void ProtobufListWriter::Add(const json::Value& item) {
  WireWriter(message_).Bytes(2, EncodeProtobufMessage(item, *item_type_));
}

std::string ProtobufListWriter::Finish() && {
  return ProtobufEnvelopeOf(api_version_, item_kind_ + std::string(kListSuffix), message_);
}

std::optional<std::string> EncodeProtobufAnswer(const json::Value& answer) {
  // Discovery of the core group has no apiVersion: it is of meta's v1.
  const auto api_version = answer["apiVersion"].string_or("v1"), kind = answer["kind"].string_or("");
  if (const auto* type = AnswerType(api_version, kind))
    return ProtobufEnvelopeOf(api_version, kind, EncodeProtobufMessage(answer, *type));
  if (!kind.ends_with(kListSuffix)) return std::nullopt;
  auto list = ProtobufListWriter::Make(std::string(api_version),
                                       kind.substr(0, kind.size() - kListSuffix.size()), answer["metadata"]);
  if (!list) return std::nullopt;
  if (answer["items"].is_array())
    for (const auto& item : answer["items"].as_array()) list->Add(item);
  return std::move(*list).Finish();
}

std::optional<std::string> EncodeProtobufWatchFrame(std::string_view type, const json::Value& object) {
  const auto encoded = EncodeProtobufAnswer(object);
  if (!encoded) return std::nullopt;
  std::string raw, message;
  WireWriter(raw).Bytes(1, *encoded);
  WireWriter writer(message);
  writer.Bytes(1, type);
  writer.Bytes(2, raw);
  std::string frame;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>((message.size() >> shift) & 0xff);
  return frame + message;
}

}  // namespace flyball::api
