#include "cel/values/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "cel/formats/named_format.h"
#include "cel/schema/schema.h"
#include "cel/text/base64.h"
#include "cel/text/number_text.h"
#include "cel/text/time.h"
#include "cel/text/utf8.h"
#include "cel/values/keyed_list.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNoSuchOverload{"no such overload"};
constexpr ErrorText kNullForType{"invalid data, got null for schema with nullable=false"};
constexpr ErrorText kNotIntOrString{
    "invalid data, expected XIntOrString value to be either a string or integer"};
constexpr ErrorText kNotAMap{"invalid data, expected a map for the provided schema with type=object"};
constexpr ErrorText kNotAnArray{"invalid data, expected an array for the provided schema with type=array"};
constexpr ErrorText kNoItems{"invalid array type, expected Items with a non-empty Schema"};
constexpr ErrorText kNanOrder{"NaN values cannot be ordered"};

// Deeper data is not compared: JSON from a client is refused long before.
constexpr int kMaxCompareDepth = 1000;

std::string_view GoJsonType(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kNull:
      return "<nil>";
    case json::Value::Kind::kBool:
      return "bool";
    case json::Value::Kind::kInt:
      return "int64";
    case json::Value::Kind::kDouble:
      return "float64";
    case json::Value::Kind::kString:
      return "string";
    case json::Value::Kind::kArray:
      return "[]interface {}";
    case json::Value::Kind::kObject:
      return "map[string]interface {}";
  }
  return "";
}

Value WrongJson(Arena& arena, std::string_view wanted, const json::Value& value) {
  return Value::Error(
      arena, "invalid data, expected " + std::string(wanted) + ", got " + std::string(GoJsonType(value)));
}

Value PlainJson(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kNull:
      return {};
    case json::Value::Kind::kBool:
      return Value::Bool(value.as_bool());
    case json::Value::Kind::kInt:
      return Value::Int(value.as_int());
    case json::Value::Kind::kDouble:
      return Value::Double(value.as_double());
    case json::Value::Kind::kString:
      return Value::String(value.as_string());
    case json::Value::Kind::kArray:
      return Value::JsonList(value.as_array(), nullptr);
    case json::Value::Kind::kObject:
      return Value::JsonMap(value.as_object(), nullptr);
  }
  return {};
}

Value TypedString(Arena& arena, const json::Value& value, const Schema& schema) {
  if (!value.is_string()) return WrongJson(arena, "string", value);
  const std::string_view text = value.as_string();
  if (schema.format == SchemaFormat::kNone) return Value::String(text);
  std::string problem;
  switch (schema.format) {
    case SchemaFormat::kNone:
      return Value::String(text);
    case SchemaFormat::kDuration: {
      if (const auto nanos = ParseOpenApiDuration(text, &problem)) return Value::Duration(*nanos);
      return Value::Error(arena, "Invalid duration " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kDate: {
      if (const auto t = ParseGoTime("2006-01-02", text, &problem))
        return Value::Timestamp(t->seconds, t->nanoseconds);
      return Value::Error(arena, "Invalid date formatted string " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kDateTime: {
      if (const auto t = ParseOpenApiDateTime(text, &problem))
        return Value::Timestamp(t->seconds, t->nanoseconds, t->offset);
      return Value::Error(arena, "Invalid date-time formatted string " + std::string(text) + ": " + problem);
    }
    case SchemaFormat::kByte: {
      if (const auto bytes = DecodeBase64Url(text, &problem)) return Value::Bytes(arena.Copy(*bytes));
      return Value::Error(arena, "Invalid byte formatted string " + std::string(text) + ": " + problem);
    }
  }
  return {};
}

// The schema of a key's value in a typed map or object; null if expressions cannot see it.
const Schema* EntrySchema(const Schema& schema, std::string_view raw_key) {
  if (schema.has_properties) return schema.FindProperty(raw_key);
  return schema.additional;
}

int Sign(std::int64_t a, std::int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
int SignUint(std::uint64_t a, std::uint64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
int SignDouble(double a, double b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
int SignDoubleInt(double d, std::int64_t i) {
  if (d < -9223372036854775808.0) return -1;
  if (d > 9223372036854775808.0) return 1;
  return SignDouble(d, static_cast<double>(i));
}
int SignDoubleUint(double d, std::uint64_t u) {
  if (d < 0) return -1;
  if (d > 18446744073709551616.0) return 1;
  return SignDouble(d, static_cast<double>(u));
}
int SignIntUint(std::int64_t i, std::uint64_t u) {
  if (i < 0 || u > static_cast<std::uint64_t>(INT64_MAX)) return -1;
  return Sign(i, static_cast<std::int64_t>(u));
}

bool IsNumber(ValueKind kind) {
  return kind == ValueKind::kInt || kind == ValueKind::kUint || kind == ValueKind::kDouble;
}

// Requires numbers that are no NaN.
int CompareNumbers(const Value& a, const Value& b) {
  switch (a.kind()) {
    case ValueKind::kInt:
      if (b.Is(ValueKind::kInt)) return Sign(a.as_int(), b.as_int());
      if (b.Is(ValueKind::kUint)) return SignIntUint(a.as_int(), b.as_uint());
      return -SignDoubleInt(b.as_double(), a.as_int());
    case ValueKind::kUint:
      if (b.Is(ValueKind::kInt)) return -SignIntUint(b.as_int(), a.as_uint());
      if (b.Is(ValueKind::kUint)) return SignUint(a.as_uint(), b.as_uint());
      return -SignDoubleUint(b.as_double(), a.as_uint());
    default:
      if (b.Is(ValueKind::kInt)) return SignDoubleInt(a.as_double(), b.as_int());
      if (b.Is(ValueKind::kUint)) return SignDoubleUint(a.as_double(), b.as_uint());
      return SignDouble(a.as_double(), b.as_double());
  }
}

bool IsNan(const Value& v) {
  return v.Is(ValueKind::kDouble) && std::isnan(v.as_double());
}

Value EqualAtDepth(Arena& arena, const Value& a, const Value& b, int depth);

// Upstream's types.Equal, which treats null apart.
Value EqualOrNull(Arena& arena, const Value& a, const Value& b, int depth) {
  const bool a_null = a.Is(ValueKind::kNull), b_null = b.Is(ValueKind::kNull);
  if (a_null || b_null) return Value::Bool(a_null == b_null);
  return EqualAtDepth(arena, a, b, depth);
}

Value EqualLists(Arena& arena, const Value& a, const Value& b, int depth) {
  const bool typed = a.schema() || a.keyed_by();
  if (!b.Is(ValueKind::kList)) return typed ? NoSuchOverload() : Value::Bool(false);
  const std::size_t size = ListSize(a);
  if (size != ListSize(b)) return Value::Bool(false);
  if (a.keyed_by()) return EqualKeyedLists(arena, a, b);
  for (std::size_t i = 0; i < size; ++i) {
    const Value x = ListElement(arena, a, i), y = ListElement(arena, b, i);
    const Value equal = typed ? EqualAtDepth(arena, x, y, depth + 1) : EqualOrNull(arena, x, y, depth + 1);
    if (typed ? !equal.IsTrue() : equal.IsFalse()) return equal;
  }
  return Value::Bool(true);
}

Value EqualTypedMaps(Arena& arena, const Value& a, const Value& b, int depth) {
  if (!b.Is(ValueKind::kMap)) return NoSuchOverload();
  if (MapSize(a) != MapSize(b)) return Value::Bool(false);
  const Schema& schema = *a.schema();
  for (const auto& [raw, member] : a.json_map()) {
    if (EntrySchema(schema, raw)) {
      Value mine, other;
      const bool found = MapFind(arena, a, raw, &mine), other_found = MapFind(arena, b, raw, &other);
      if (found != other_found) return Value::Bool(false);
      if (!found) continue;
      const Value equal = EqualAtDepth(arena, mine, other, depth + 1);
      if (!equal.IsTrue()) return equal;
    } else {
      if (b.holding() != Holding::kJson || !b.schema()) return NoSuchOverload();
      const json::Value* other = b.json_map().Find(raw);
      if (other && !(member == *other)) return Value::Bool(false);
    }
  }
  return Value::Bool(true);
}

Value EqualMaps(Arena& arena, const Value& a, const Value& b, int depth) {
  if (a.schema()) return EqualTypedMaps(arena, a, b, depth);
  if (!b.Is(ValueKind::kMap) || MapSize(a) != MapSize(b)) return Value::Bool(false);
  bool equal = true;
  ForEachEntry(arena, a, true, [&](const Value& key, const Value& value) {
    Value other;
    equal = MapFind(arena, b, key, &other) && !EqualOrNull(arena, value, other, depth + 1).IsFalse();
    return equal;
  });
  return Value::Bool(equal);
}

Value EqualPatches(Arena& arena, const OpaqueValue& a, const Value& b, int depth) {
  if (!b.Is(ValueKind::kOpaque) || b.opaque()->kind != a.kind || b.opaque()->type->name != a.type->name)
    return Value::Bool(false);
  return EqualMaps(arena, Value::Map(static_cast<const PatchValue&>(a).fields),
                   Value::Map(static_cast<const PatchValue&>(*b.opaque()).fields), depth);
}

Value EqualOpaque(Arena& arena, const OpaqueValue& a, const Value& b, int depth) {
  if (a.kind == OpaqueKind::kObject || a.kind == OpaqueKind::kJsonPatch)
    return EqualPatches(arena, a, b, depth);
  if (!b.Is(ValueKind::kOpaque) || b.opaque()->kind != a.kind) return NoSuchOverload();
  const OpaqueValue& o = *b.opaque();
  switch (a.kind) {
    case OpaqueKind::kIp:
      return Value::Bool(static_cast<const IpValue&>(a).address == static_cast<const IpValue&>(o).address);
    case OpaqueKind::kCidr:
      return Value::Bool(static_cast<const CidrValue&>(a).prefix == static_cast<const CidrValue&>(o).prefix);
    case OpaqueKind::kUrl:
      return Value::Bool(static_cast<const UrlValue&>(a).url.ToString() ==
                         static_cast<const UrlValue&>(o).url.ToString());
    case OpaqueKind::kQuantity:
      return Value::Bool(static_cast<const QuantityValue&>(a).quantity.Compare(
                             static_cast<const QuantityValue&>(o).quantity) == 0);
    case OpaqueKind::kSemver:
      return Value::Bool(static_cast<const SemverValue&>(a).version.Compare(
                             static_cast<const SemverValue&>(o).version) == 0);
    case OpaqueKind::kFormat:
      return Value::Bool(static_cast<const FormatValue&>(a).format ==
                         static_cast<const FormatValue&>(o).format);
    default:
      return NoSuchOverload();
  }
}

Value EqualAtDepth(Arena& arena, const Value& a, const Value& b, int depth) {
  if (depth > kMaxCompareDepth) return Value::Error(arena, "value is nested too deeply to be compared");
  if (a.IsError()) return a;
  switch (a.kind()) {
    case ValueKind::kNull:
      return Value::Bool(b.Is(ValueKind::kNull));
    case ValueKind::kBool:
      return Value::Bool(b.Is(ValueKind::kBool) && a.as_bool() == b.as_bool());
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
      return Value::Bool(IsNumber(b.kind()) && !IsNan(a) && !IsNan(b) && CompareNumbers(a, b) == 0);
    case ValueKind::kString:
    case ValueKind::kBytes:
      return Value::Bool(a.kind() == b.kind() && a.text() == b.text());
    case ValueKind::kDuration:
      return Value::Bool(b.Is(ValueKind::kDuration) && a.as_int() == b.as_int());
    case ValueKind::kTimestamp:
      return Value::Bool(b.Is(ValueKind::kTimestamp) && a.as_int() == b.as_int() &&
                         a.nanoseconds() == b.nanoseconds());
    case ValueKind::kType:
      return Value::Bool(b.Is(ValueKind::kType) && a.type_value()->name == b.type_value()->name);
    case ValueKind::kList:
      return EqualLists(arena, a, b, depth);
    case ValueKind::kMap:
      return EqualMaps(arena, a, b, depth);
    case ValueKind::kOptional:
      if (!b.Is(ValueKind::kOptional)) return Value::Bool(false);
      if (!a.optional() || !b.optional()) return Value::Bool(!a.optional() && !b.optional());
      return EqualAtDepth(arena, *a.optional(), *b.optional(), depth + 1);
    case ValueKind::kOpaque:
      return EqualOpaque(arena, *a.opaque(), b, depth);
    case ValueKind::kPreserved:
      return Value::Bool(b.Is(ValueKind::kPreserved) && a.preserved() == b.preserved());
    case ValueKind::kError:
      return a;
  }
  return NoSuchOverload();
}

std::size_t HashKey(const Value& key) {
  switch (key.kind()) {
    case ValueKind::kString:
      return std::hash<std::string_view>()(key.text());
    case ValueKind::kDouble:
      return std::hash<double>()(key.as_double()) * 31 + 3;
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
    case ValueKind::kTimestamp:
      return std::hash<std::int64_t>()(key.as_int()) * 31 + static_cast<std::size_t>(key.kind());
    default:
      return std::hash<const void*>()(key.identity());
  }
}

bool SameKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return a.text() == b.text();
    case ValueKind::kDouble:
      return a.as_double() == b.as_double();
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return a.as_int() == b.as_int();
    case ValueKind::kTimestamp:
      return a.as_int() == b.as_int() && a.nanoseconds() == b.nanoseconds();
    case ValueKind::kNull:
      return true;
    default:
      return a.identity() == b.identity();
  }
}

constexpr std::size_t kLinearEntries = 8;

}  // namespace

Value Value::EscapedJson(const json::Value& value) {
  constexpr std::uint64_t kEscapedNames = 1u << 16;
  Value plain = PlainJson(value);
  if (value.is_object() || value.is_array()) plain.words_[0] |= kEscapedNames;
  return plain;
}

const Schema* Value::keyed_by() const {
  if (!Is(ValueKind::kList) || (holding() != Holding::kJson && holding() != Holding::kValues)) return nullptr;
  const Schema* schema = aux_schema();
  return !schema || schema->list_type == ListType::kAtomic ? nullptr : schema;
}

Value NoSuchOverload() {
  return Value::Error(&kNoSuchOverload);
}

Value Value::Concat(const Concatenation* lists) {
  return Pointer(ValueKind::kList, Holding::kConcat, lists);
}

Value Value::Some(Arena& arena, const Value& value) {
  return Pointer(ValueKind::kOptional, Holding::kValues, arena.New<Value>(value));
}

Value Value::Error(Arena& arena, std::string_view message) {
  return Error(arena.New<ErrorText>(ErrorText{arena.Copy(message)}));
}

void GrowingList::Append(const Value& value) {
  if (size == capacity) {
    const std::size_t larger = capacity ? capacity * 2 : 4;
    Value* moved = arena.NewArray<Value>(larger);
    if (size) std::memcpy(static_cast<void*>(moved), elements, size * sizeof(Value));
    elements = moved;
    capacity = larger;
  }
  elements[size++] = value;
}

const Value* MapTable::Find(const Value& key) const {
  std::size_t at = FindExactly(key);
  if (at == size_) {
    const auto other = [&](const Value& converted) {
      if (at == size_) at = FindExactly(converted);
    };
    switch (key.kind()) {
      case ValueKind::kDouble: {
        const double d = key.as_double();
        if (d > -9223372036854775808.0 && d < 9223372036854775808.0 && d == std::trunc(d))
          other(Value::Int(static_cast<std::int64_t>(d)));
        if (d >= 0 && d < 18446744073709551616.0 && d == std::trunc(d))
          other(Value::Uint(static_cast<std::uint64_t>(d)));
        break;
      }
      case ValueKind::kInt:
        if (key.as_int() >= 0) other(Value::Uint(static_cast<std::uint64_t>(key.as_int())));
        break;
      case ValueKind::kUint:
        if (key.as_uint() <= static_cast<std::uint64_t>(INT64_MAX))
          other(Value::Int(static_cast<std::int64_t>(key.as_uint())));
        break;
      default:
        break;
    }
  }
  return at == size_ ? nullptr : &entries_[at].value;
}

std::size_t MapTable::FindExactly(const Value& key) const {
  if (!slots_) {
    for (std::size_t i = 0; i < size_; ++i)
      if (SameKey(entries_[i].key, key)) return i;
    return size_;
  }
  for (std::size_t slot = HashKey(key) & (slot_count_ - 1); slots_[slot];
       slot = (slot + 1) & (slot_count_ - 1))
    if (SameKey(entries_[slots_[slot] - 1].key, key)) return slots_[slot] - 1;
  return size_;
}

void MapTable::Set(const Value& key, const Value& value) {
  const std::size_t at = FindExactly(key);
  if (at < size_) {
    entries_[at].value = value;
    return;
  }
  if (size_ == capacity_) Grow();
  entries_[size_] = {key, value};
  ++size_;
  if (slots_) Index(size_ - 1);
}

void MapTable::Erase(const Value& key) {
  const std::size_t at = FindExactly(key);
  if (at == size_) return;
  std::copy(entries_ + at + 1, entries_ + size_, entries_ + at);
  --size_;
  if (!slots_) return;
  std::fill(slots_, slots_ + slot_count_, 0);
  for (std::size_t i = 0; i < size_; ++i) Index(i);
}

void MapTable::Grow() {
  const std::size_t larger = capacity_ ? capacity_ * 2 : 4;
  Entry* moved = arena_.NewArray<Entry>(larger);
  std::uninitialized_copy(entries_, entries_ + size_, moved);
  entries_ = moved;
  capacity_ = larger;
  if (capacity_ <= kLinearEntries) return;
  slot_count_ = capacity_ * 2;
  slots_ = arena_.NewArray<std::uint32_t>(slot_count_);
  std::fill(slots_, slots_ + slot_count_, 0);
  for (std::size_t i = 0; i < size_; ++i) Index(i);
}

void MapTable::Index(std::size_t position) {
  std::size_t slot = HashKey(entries_[position].key) & (slot_count_ - 1);
  while (slots_[slot]) slot = (slot + 1) & (slot_count_ - 1);
  slots_[slot] = static_cast<std::uint32_t>(position + 1);
}

std::size_t ListSize(const Value& list) {
  switch (list.holding()) {
    case Holding::kConcat:
      return list.concatenation().size;
    case Holding::kGrowing:
      return list.growing_list().size;
    default:
      return list.raw_size();
  }
}

Value ListElement(Arena& arena, const Value& list, std::size_t index) {
  const Value* at = &list;
  while (at->holding() == Holding::kConcat) {
    const Concatenation& lists = at->concatenation();
    const std::size_t first = ListSize(lists.first);
    at = index < first ? &lists.first : &lists.second;
    if (index >= first) index -= first;
  }
  switch (at->holding()) {
    case Holding::kJson:
      return internal::FromMember(arena, *at, at->json_list()[index],
                                  at->schema() ? at->schema()->items : nullptr);
    case Holding::kGrowing:
      return at->growing_list().elements[index];
    default:
      return at->elements()[index];
  }
}

std::size_t MapSize(const Value& map) {
  return map.holding() == Holding::kJson ? map.raw_size() : map.map_table().size();
}

bool MapFind(Arena& arena, const Value& map, const Value& key, Value* found) {
  if (map.holding() == Holding::kJson) {
    if (key.Is(ValueKind::kString)) return MapFind(arena, map, key.text(), found);
    if (!map.schema()) return false;
    *found = NoSuchOverload();
    return true;
  }
  const Value* value = map.map_table().Find(key);
  if (value) *found = *value;
  return value != nullptr;
}

bool MapFind(Arena& arena, const Value& map, std::string_view key, Value* found) {
  if (map.holding() != Holding::kJson) return MapFind(arena, map, Value::String(key), found);
  const Schema* schema = map.schema();
  if (!schema) {
    const auto name = map.has_escaped_names() ? UnescapeFieldName(key) : std::nullopt;
    const json::Value* value = map.json_map().Find(name ? std::string_view(*name) : key);
    if (value) *found = internal::FromMember(arena, map, *value, nullptr);
    return value != nullptr;
  }
  std::string unescaped;
  if (schema->has_properties && key.find("__") != std::string_view::npos) {
    auto name = UnescapeFieldName(key);
    if (!name) return false;
    unescaped = std::move(*name);
    key = unescaped;
  }
  const json::Value* value = map.json_map().Find(key);
  if (!value || (schema->has_properties && value->is_null())) return false;
  const Schema* entry = EntrySchema(*schema, key);
  if (!entry) return false;
  *found = FromJson(arena, *value, entry);
  return true;
}

Value FromJson(Arena& arena, const json::Value& value, const Schema* schema) {
  if (!schema) return PlainJson(value);
  if (value.is_null()) return schema->nullable ? Value() : Value::Error(&kNullForType);
  if (schema->int_or_string) {
    if (value.is_string()) return Value::String(value.as_string());
    if (value.is_int()) return Value::Int(value.as_int());
    return Value::Error(&kNotIntOrString);
  }
  switch (schema->type) {
    case SchemaType::kObject: {
      if (!value.is_object()) return Value::Error(&kNotAMap);
      return Value::JsonMap(value.as_object(),
                            schema->embedded && schema->with_meta ? schema->with_meta : schema);
    }
    case SchemaType::kArray:
      if (!value.is_array()) return Value::Error(&kNotAnArray);
      if (!schema->items) return Value::Error(&kNoItems);
      return Value::JsonList(value.as_array(), schema);
    case SchemaType::kString:
      return TypedString(arena, value, *schema);
    case SchemaType::kNumber:
      return value.is_number() ? Value::Double(value.as_double()) : WrongJson(arena, "float", value);
    case SchemaType::kInteger:
      return value.is_int() ? Value::Int(value.as_int()) : WrongJson(arena, "int", value);
    case SchemaType::kBoolean:
      return value.is_bool() ? Value::Bool(value.as_bool()) : WrongJson(arena, "bool", value);
    case SchemaType::kNone:
    case SchemaType::kOther:
      break;
  }
  if (schema->preserves_unknown) return Value::Preserved(value);
  return Value::Error(
      arena,
      "invalid type, expected object, array, number, integer, boolean or string, or no type with "
      "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got " +
          schema->type_name);
}

Value EqualValues(Arena& arena, const Value& a, const Value& b) {
  return EqualOrNull(arena, a, b, 0);
}

Value CompareValues(Arena& arena, const Value& a, const Value& b) {
  (void)arena;
  switch (a.kind()) {
    case ValueKind::kBool:
      if (!b.Is(ValueKind::kBool)) return NoSuchOverload();
      return Value::Int(Sign(a.as_int(), b.as_int()));
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
      if (IsNan(a)) return Value::Error(&kNanOrder);
      if (!IsNumber(b.kind())) return NoSuchOverload();
      if (IsNan(b)) return Value::Error(&kNanOrder);
      return Value::Int(CompareNumbers(a, b));
    case ValueKind::kString:
    case ValueKind::kBytes: {
      if (a.kind() != b.kind()) return NoSuchOverload();
      const int order = a.text().compare(b.text());
      return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
    }
    case ValueKind::kDuration:
      if (!b.Is(ValueKind::kDuration)) return NoSuchOverload();
      return Value::Int(Sign(a.as_int(), b.as_int()));
    case ValueKind::kTimestamp: {
      if (!b.Is(ValueKind::kTimestamp)) return NoSuchOverload();
      const int order = Sign(a.as_int(), b.as_int());
      return Value::Int(order ? order : Sign(a.nanoseconds(), b.nanoseconds()));
    }
    default:
      return NoSuchOverload();
  }
}

std::size_t CountCharacters(std::string_view text) {
  // Go counts every byte that belongs to no valid character as one.
  std::size_t ascii = 0;
  while (ascii < text.size() && static_cast<unsigned char>(text[ascii]) < 0x80) ++ascii;
  std::size_t count = ascii;
  for (std::size_t i = ascii; i < text.size(); ++count)
    i += static_cast<unsigned char>(text[i]) < 0x80 ? 1 : DecodeRune(text, i).length;
  return count;
}

std::uint64_t CostSize(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString:
      return CountCharacters(value.text());
    case ValueKind::kBytes:
      return value.text().size();
    case ValueKind::kList:
      return ListSize(value);
    case ValueKind::kMap:
      return MapSize(value);
    case ValueKind::kOptional:
      return value.optional() ? CostSize(*value.optional()) : 1;
    case ValueKind::kOpaque:
      if (value.opaque()->kind == OpaqueKind::kIp)
        return static_cast<const IpValue*>(value.opaque())->address.ByteCount();
      if (value.opaque()->kind == OpaqueKind::kCidr)
        return static_cast<std::uint64_t>((static_cast<const CidrValue*>(value.opaque())->prefix.bits + 7) /
                                          8);
      return 1;
    default:
      return 1;
  }
}

const Type* TypeOfValue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return &types::kNull;
    case ValueKind::kBool:
      return &types::kBool;
    case ValueKind::kInt:
      return &types::kInt;
    case ValueKind::kUint:
      return &types::kUint;
    case ValueKind::kDouble:
      return &types::kDouble;
    case ValueKind::kString:
      return &types::kString;
    case ValueKind::kBytes:
      return &types::kBytes;
    case ValueKind::kDuration:
      return &types::kDuration;
    case ValueKind::kTimestamp:
      return &types::kTimestamp;
    case ValueKind::kType:
      return &types::kType;
    case ValueKind::kList:
      return &types::kListDyn;
    case ValueKind::kMap:
      return &types::kMapDyn;
    case ValueKind::kOptional:
      return &types::kOptionalDyn;
    case ValueKind::kOpaque:
      return value.opaque()->type;
    case ValueKind::kPreserved:
      return &types::kDyn;
    case ValueKind::kError:
      return &types::kError;
  }
  return &types::kDyn;
}

std::string_view TypeNameOf(const Value& value) {
  if (value.Is(ValueKind::kPreserved)) return "unknown";
  return TypeOfValue(value)->name;
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "types.Null";
    case ValueKind::kBool:
      return "types.Bool";
    case ValueKind::kInt:
      return "types.Int";
    case ValueKind::kUint:
      return "types.Uint";
    case ValueKind::kDouble:
      return "types.Double";
    case ValueKind::kString:
      return "types.String";
    case ValueKind::kBytes:
      return "types.Bytes";
    case ValueKind::kDuration:
      return "types.Duration";
    case ValueKind::kTimestamp:
      return "types.Timestamp";
    case ValueKind::kType:
      return "*types.Type";
    case ValueKind::kList:
      return "*types.baseList";
    case ValueKind::kMap:
      return "*types.baseMap";
    case ValueKind::kOptional:
      return "*types.Optional";
    case ValueKind::kOpaque:
      switch (value.opaque()->kind) {
        case OpaqueKind::kIp:
          return "cel.IP";
        case OpaqueKind::kCidr:
          return "cel.CIDR";
        case OpaqueKind::kUrl:
          return "cel.URL";
        case OpaqueKind::kQuantity:
          return "cel.Quantity";
        case OpaqueKind::kSemver:
          return "cel.Semver";
        case OpaqueKind::kFormat:
          return "cel.Format";
        case OpaqueKind::kLazyFields:
          return "*lazy.MapValue";
        case OpaqueKind::kObject:
          return "*dynamic.ObjectVal";
        case OpaqueKind::kJsonPatch:
          return "*mutation.JSONPatchVal";
        default:
          return "library.authorizerVal";
      }
    case ValueKind::kPreserved:
      return "*common.unknownPreserved";
    case ValueKind::kError:
      return "*types.Err";
  }
  return "";
}

std::string DisplayText(Arena& arena, const Value& value) {
  std::string out;
  switch (value.kind()) {
    case ValueKind::kNull:
      return "NULL_VALUE";
    case ValueKind::kBool:
      return value.as_bool() ? "true" : "false";
    case ValueKind::kInt:
      return std::to_string(value.as_int());
    case ValueKind::kUint:
      return std::to_string(value.as_uint());
    case ValueKind::kDouble:
      return FormatShortDouble(value.as_double());
    case ValueKind::kString:
    case ValueKind::kBytes:
      return std::string(value.text());
    case ValueKind::kDuration:
      return FormatDuration(value.as_int());
    case ValueKind::kTimestamp:
      return FormatRfc3339Nano({value.as_int(), value.nanoseconds(), value.offset()});
    case ValueKind::kType:
      return value.type_value()->name;
    case ValueKind::kList: {
      out = "[";
      for (std::size_t i = 0; i < ListSize(value) && out.size() < 1024; ++i) {
        if (i) out += ", ";
        out += DisplayText(arena, ListElement(arena, value, i));
      }
      return out + "]";
    }
    case ValueKind::kMap: {
      out = "{";
      ForEachEntry(arena, value, true, [&](const Value& k, const Value& v) {
        if (out.size() > 1) out += ", ";
        out += DisplayText(arena, k) + ": " + DisplayText(arena, v);
        return out.size() < 1024;
      });
      return out + "}";
    }
    case ValueKind::kOptional:
      return value.optional() ? "optional(" + DisplayText(arena, *value.optional()) + ")" : "optional.none()";
    case ValueKind::kError:
      return std::string(value.error());
    default:
      return std::string(TypeNameOf(value));
  }
}

bool IsZeroValue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kBool:
      return !value.as_bool();
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return value.as_int() == 0;
    case ValueKind::kDouble:
      return value.as_double() == 0;
    case ValueKind::kString:
    case ValueKind::kBytes:
      return value.text().empty();
    // Typed lists and maps do not say whether they are empty.
    case ValueKind::kList:
      return !value.schema() && ListSize(value) == 0;
    case ValueKind::kMap:
      return !value.schema() && MapSize(value) == 0;
    case ValueKind::kTimestamp:
      return value.as_int() == kMinTimestamp && value.nanoseconds() == 0;
    default:
      return false;
  }
}

namespace internal {

Value FromMember(Arena& arena, const Value& container, const json::Value& value, const Schema* schema) {
  return container.has_escaped_names() ? Value::EscapedJson(value) : FromJson(arena, value, schema);
}

bool NextJsonEntry(const Value& map, std::size_t* position, EntrySource* entry) {
  const json::Object& object = map.json_map();
  const Schema* schema = map.schema();
  for (; *position < object.size(); ++*position) {
    const json::Object::Member& member = *(object.begin() + *position);
    *entry = {&member, nullptr, member.first};
    if (schema) {
      entry->schema = EntrySchema(*schema, member.first);
      if (!entry->schema || (schema->has_properties && member.second.is_null())) continue;
      if (schema->has_properties)
        for (const Schema::Property& property : schema->properties)
          if (property.name == member.first && !property.escaped.empty()) entry->key = property.escaped;
    }
    ++*position;
    return true;
  }
  return false;
}

}  // namespace internal
}  // namespace flyball::cel
