#include <cmath>

#include "cel/schema/schema.h"
#include "cel/values/entry_schema.h"
#include "cel/values/keyed_list.h"
#include "cel/values/opaque.h"
#include "cel/values/value.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNanOrder{"NaN values cannot be ordered"};

// Deeper data is not compared: JSON from a client is refused long before.
constexpr int kMaxCompareDepth = 1000;

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
    if (internal::EntrySchema(schema, raw)) {
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

}  // namespace

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

}  // namespace flyball::cel
