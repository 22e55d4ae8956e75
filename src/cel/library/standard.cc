// The operators and the functions every CEL has (upstream: cel-go common/stdlib).
#include <cmath>
#include <limits>
#include <string>

#include "cel/formats/regex.h"
#include "cel/library/library_builder.h"
#include "cel/text/number_text.h"
#include "cel/text/time.h"
#include "cel/text/utf8.h"
#include "cel/values/keyed_list.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kDivisionByZero{"division by zero"}, kModulusByZero{"modulus by zero"},
    kIntegerOverflow{"integer overflow"}, kUnsignedOverflow{"unsigned integer overflow"},
    kTimestampOverflow{"timestamp overflow"};
constexpr std::int64_t kNanos = 1'000'000'000;

Value Overflow() {
  return Value::Error(&kIntegerOverflow);
}

Value AddTime(const Value& time, std::int64_t duration) {
  std::int64_t seconds = time.as_int() + duration / kNanos;
  std::int64_t nanos = static_cast<std::int64_t>(time.nanoseconds()) + duration % kNanos;
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  } else if (nanos >= kNanos) {
    nanos -= kNanos;
    ++seconds;
  }
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) return Value::Error(&kTimestampOverflow);
  return Value::Timestamp(seconds, static_cast<std::uint32_t>(nanos), time.offset());
}

Value AddLists(Arena& arena, const Value& a, const Value& b) {
  if (a.holding() == Holding::kGrowing) {
    for (std::size_t i = 0, n = ListSize(b); i < n; ++i) a.growing_list().Append(ListElement(arena, b, i));
    return a;
  }
  if (a.keyed_by()) return AddKeyedLists(arena, a, b);
  const std::size_t first = ListSize(a), second = ListSize(b);
  if (first == 0) return b;
  if (second == 0) return a;
  return Value::Concat(arena.New<Concatenation>(Concatenation{a, b, first + second}));
}

Value Add(Arena& arena, const Value* v, std::size_t) {
  const Value &a = v[0], &b = v[1];
  std::int64_t sum = 0;
  switch (a.kind()) {
    case ValueKind::kInt:
      if (!b.Is(ValueKind::kInt)) return NoSuchOverload();
      return __builtin_add_overflow(a.as_int(), b.as_int(), &sum) ? Overflow() : Value::Int(sum);
    case ValueKind::kUint: {
      std::uint64_t total = 0;
      if (!b.Is(ValueKind::kUint)) return NoSuchOverload();
      return __builtin_add_overflow(a.as_uint(), b.as_uint(), &total) ? Value::Error(&kUnsignedOverflow)
                                                                      : Value::Uint(total);
    }
    case ValueKind::kDouble:
      return b.Is(ValueKind::kDouble) ? Value::Double(a.as_double() + b.as_double()) : NoSuchOverload();
    case ValueKind::kString:
    case ValueKind::kBytes: {
      if (a.kind() != b.kind()) return NoSuchOverload();
      const std::size_t size = a.text().size() + b.text().size();
      if (size == 0) return a;
      char* text = static_cast<char*>(arena.Allocate(size, 1));
      a.text().copy(text, a.text().size());
      b.text().copy(text + a.text().size(), b.text().size());
      return a.Is(ValueKind::kString) ? Value::String({text, size}) : Value::Bytes({text, size});
    }
    case ValueKind::kDuration:
      if (b.Is(ValueKind::kTimestamp)) return AddTime(b, a.as_int());
      if (!b.Is(ValueKind::kDuration)) return NoSuchOverload();
      return __builtin_add_overflow(a.as_int(), b.as_int(), &sum) ? Overflow() : Value::Duration(sum);
    case ValueKind::kTimestamp:
      return b.Is(ValueKind::kDuration) ? AddTime(a, b.as_int()) : NoSuchOverload();
    case ValueKind::kList:
      return b.Is(ValueKind::kList) ? AddLists(arena, a, b) : NoSuchOverload();
    default:
      return NoSuchOverload();
  }
}

Value Subtract(Arena&, const Value* v, std::size_t) {
  const Value &a = v[0], &b = v[1];
  std::int64_t difference = 0;
  switch (a.kind()) {
    case ValueKind::kInt:
    case ValueKind::kDuration:
      if (a.kind() != b.kind()) return NoSuchOverload();
      if (__builtin_sub_overflow(a.as_int(), b.as_int(), &difference)) return Overflow();
      return a.Is(ValueKind::kInt) ? Value::Int(difference) : Value::Duration(difference);
    case ValueKind::kUint:
      if (!b.Is(ValueKind::kUint)) return NoSuchOverload();
      return b.as_uint() > a.as_uint() ? Value::Error(&kUnsignedOverflow)
                                       : Value::Uint(a.as_uint() - b.as_uint());
    case ValueKind::kDouble:
      return b.Is(ValueKind::kDouble) ? Value::Double(a.as_double() - b.as_double()) : NoSuchOverload();
    case ValueKind::kTimestamp: {
      if (b.Is(ValueKind::kDuration)) return b.as_int() == INT64_MIN ? Overflow() : AddTime(a, -b.as_int());
      if (!b.Is(ValueKind::kTimestamp)) return NoSuchOverload();
      const std::int64_t nanos =
          static_cast<std::int64_t>(a.nanoseconds()) - static_cast<std::int64_t>(b.nanoseconds());
      if (__builtin_mul_overflow(a.as_int() - b.as_int(), kNanos, &difference) ||
          __builtin_add_overflow(difference, nanos, &difference))
        return Overflow();
      return Value::Duration(difference);
    }
    default:
      return NoSuchOverload();
  }
}

Value Multiply(Arena&, const Value* v, std::size_t) {
  const Value &a = v[0], &b = v[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  std::int64_t product = 0;
  std::uint64_t unsigned_product = 0;
  switch (a.kind()) {
    case ValueKind::kInt:
      return __builtin_mul_overflow(a.as_int(), b.as_int(), &product) ? Overflow() : Value::Int(product);
    case ValueKind::kUint:
      return __builtin_mul_overflow(a.as_uint(), b.as_uint(), &unsigned_product)
                 ? Value::Error(&kUnsignedOverflow)
                 : Value::Uint(unsigned_product);
    case ValueKind::kDouble:
      return Value::Double(a.as_double() * b.as_double());
    default:
      return NoSuchOverload();
  }
}

Value Divide(Arena&, const Value* v, std::size_t) {
  const Value &a = v[0], &b = v[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case ValueKind::kInt:
      if (b.as_int() == 0) return Value::Error(&kDivisionByZero);
      if (a.as_int() == INT64_MIN && b.as_int() == -1) return Overflow();
      return Value::Int(a.as_int() / b.as_int());
    case ValueKind::kUint:
      return b.as_uint() == 0 ? Value::Error(&kDivisionByZero) : Value::Uint(a.as_uint() / b.as_uint());
    case ValueKind::kDouble:
      return Value::Double(a.as_double() / b.as_double());
    default:
      return NoSuchOverload();
  }
}

Value Modulo(Arena&, const Value* v, std::size_t) {
  const Value &a = v[0], &b = v[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  if (a.Is(ValueKind::kInt)) {
    if (b.as_int() == 0) return Value::Error(&kModulusByZero);
    if (a.as_int() == INT64_MIN && b.as_int() == -1) return Overflow();
    return Value::Int(a.as_int() % b.as_int());
  }
  return b.as_uint() == 0 ? Value::Error(&kModulusByZero) : Value::Uint(a.as_uint() % b.as_uint());
}

Value Negate(Arena&, const Value* v, std::size_t) {
  switch (v[0].kind()) {
    case ValueKind::kInt:
      return v[0].as_int() == INT64_MIN ? Overflow() : Value::Int(-v[0].as_int());
    case ValueKind::kDuration:
      return v[0].as_int() == INT64_MIN ? Overflow() : Value::Duration(-v[0].as_int());
    case ValueKind::kDouble:
      return Value::Double(-v[0].as_double());
    default:
      return NoSuchOverload();
  }
}

Value Less(Arena& arena, const Value* v, std::size_t) {
  const Value order = CompareValues(arena, v[0], v[1]);
  return order.IsError() ? order : Value::Bool(order.as_int() < 0);
}
Value LessEquals(Arena& arena, const Value* v, std::size_t) {
  const Value order = CompareValues(arena, v[0], v[1]);
  return order.IsError() ? order : Value::Bool(order.as_int() <= 0);
}
Value Greater(Arena& arena, const Value* v, std::size_t) {
  const Value order = CompareValues(arena, v[0], v[1]);
  return order.IsError() ? order : Value::Bool(order.as_int() > 0);
}
Value GreaterEquals(Arena& arena, const Value* v, std::size_t) {
  const Value order = CompareValues(arena, v[0], v[1]);
  return order.IsError() ? order : Value::Bool(order.as_int() >= 0);
}

Value In(Arena& arena, const Value* v, std::size_t) {
  const Value &element = v[0], &container = v[1];
  if (container.Is(ValueKind::kMap)) {
    Value found;
    const bool there = MapFind(arena, container, element, &found);
    return there && container.schema() && found.IsError() ? found : Value::Bool(there);
  }
  if (!container.Is(ValueKind::kList)) return NoSuchOverload();
  Value error;
  bool failed = false;
  const bool typed = container.schema() != nullptr;
  for (std::size_t i = 0, n = ListSize(container); i < n; ++i) {
    const Value item = ListElement(arena, container, i);
    const Value equal = typed ? EqualValues(arena, item, element) : EqualValues(arena, element, item);
    if (equal.IsTrue()) return equal;
    if (typed && equal.IsError() && !failed) {
      failed = true;
      error = equal;
    }
  }
  return failed ? error : Value::Bool(false);
}

Value Not(Arena&, const Value* v, std::size_t) {
  return v[0].Is(ValueKind::kBool) ? Value::Bool(!v[0].as_bool()) : NoSuchOverload();
}
Value NotStrictlyFalse(Arena&, const Value* v, std::size_t) {
  return v[0].Is(ValueKind::kBool) ? v[0] : Value::Bool(true);
}

Value Size(Arena&, const Value* v, std::size_t) {
  return Value::Int(static_cast<std::int64_t>(CostSize(v[0])));
}

Value Contains(Arena&, const Value* v, std::size_t) {
  if (!v[0].Is(ValueKind::kString) || !v[1].Is(ValueKind::kString)) return NoSuchOverload();
  return Value::Bool(v[0].text().find(v[1].text()) != std::string_view::npos);
}
Value StartsWith(Arena&, const Value* v, std::size_t) {
  if (!v[0].Is(ValueKind::kString) || !v[1].Is(ValueKind::kString)) return NoSuchOverload();
  return Value::Bool(v[0].text().starts_with(v[1].text()));
}
Value EndsWith(Arena&, const Value* v, std::size_t) {
  if (!v[0].Is(ValueKind::kString) || !v[1].Is(ValueKind::kString)) return NoSuchOverload();
  return Value::Bool(v[0].text().ends_with(v[1].text()));
}
Value Matches(Arena& arena, const Value* v, std::size_t) {
  if (!v[1].Is(ValueKind::kString)) return NoSuchOverload();
  std::string problem;
  const auto regex = Regex::Compile(v[1].text(), &problem);
  return regex ? Value::Bool(regex->Matches(v[0].text())) : Value::Error(arena, problem);
}

Value Identity(Arena&, const Value* v, std::size_t) {
  return v[0];
}
Value TypeOf(Arena&, const Value* v, std::size_t) {
  return Value::TypeValue(TypeOfValue(v[0]));
}

Value ConversionError(Arena& arena, const Value& from, std::string_view to) {
  return Value::Error(arena, "type conversion error from '" + std::string(TypeNameOf(from)) + "' to '" +
                                 std::string(to) + "'");
}

Value ToBool(Arena& arena, const Value* v, std::size_t) {
  if (const auto b = ParseGoBool(v[0].text())) return Value::Bool(*b);
  return ConversionError(arena, v[0], "bool");
}
Value ToBytes(Arena&, const Value* v, std::size_t) {
  return Value::Bytes(v[0].text());
}
Value ToDouble(Arena& arena, const Value* v, std::size_t) {
  switch (v[0].kind()) {
    case ValueKind::kInt:
      return Value::Double(static_cast<double>(v[0].as_int()));
    case ValueKind::kUint:
      return Value::Double(static_cast<double>(v[0].as_uint()));
    default:
      break;
  }
  if (const auto d = ParseGoDouble(v[0].text())) return Value::Double(*d);
  return ConversionError(arena, v[0], "double");
}
Value ToInt(Arena& arena, const Value* v, std::size_t) {
  switch (v[0].kind()) {
    case ValueKind::kDouble: {
      const double d = v[0].as_double();
      if (!std::isfinite(d) || d <= -9223372036854775808.0 || d >= 9223372036854775808.0) return Overflow();
      return Value::Int(static_cast<std::int64_t>(d));
    }
    case ValueKind::kUint:
      return v[0].as_uint() > static_cast<std::uint64_t>(INT64_MAX) ? Overflow() : Value::Int(v[0].as_int());
    case ValueKind::kDuration:
    case ValueKind::kTimestamp:
      return Value::Int(v[0].as_int());
    default:
      break;
  }
  if (const auto i = ParseGoInt(v[0].text())) return Value::Int(*i);
  return ConversionError(arena, v[0], "int");
}
Value ToUint(Arena& arena, const Value* v, std::size_t) {
  switch (v[0].kind()) {
    case ValueKind::kDouble: {
      const double d = v[0].as_double();
      if (!std::isfinite(d) || d < 0 || d >= 18446744073709551616.0) return Value::Error(&kUnsignedOverflow);
      return Value::Uint(static_cast<std::uint64_t>(d));
    }
    case ValueKind::kInt:
      return v[0].as_int() < 0 ? Value::Error(&kUnsignedOverflow) : Value::Uint(v[0].as_uint());
    default:
      break;
  }
  if (const auto u = ParseGoUint(v[0].text())) return Value::Uint(*u);
  return ConversionError(arena, v[0], "uint");
}
Value ToText(Arena& arena, const Value* v, std::size_t) {
  if (v[0].Is(ValueKind::kBytes)) {
    if (!IsValidUtf8(v[0].text()))
      return Value::Error(arena, "invalid UTF-8 in bytes, cannot convert to string");
    return Value::String(v[0].text());
  }
  return Value::String(arena.Copy(DisplayText(arena, v[0])));
}
Value ToDuration(Arena& arena, const Value* v, std::size_t) {
  if (const auto nanos = ParseGoDuration(v[0].text())) return Value::Duration(*nanos);
  return ConversionError(arena, v[0], "google.protobuf.Duration");
}
Value ToTimestamp(Arena& arena, const Value* v, std::size_t) {
  if (v[0].Is(ValueKind::kInt)) {
    const std::int64_t seconds = v[0].as_int();
    return seconds < kMinTimestamp || seconds > kMaxTimestamp ? Value::Error(&kTimestampOverflow)
                                                              : Value::Timestamp(seconds, 0);
  }
  const auto t = ParseRfc3339(v[0].text());
  if (!t) return ConversionError(arena, v[0], "google.protobuf.Timestamp");
  if (t->seconds < kMinTimestamp || t->seconds > kMaxTimestamp) return Value::Error(&kTimestampOverflow);
  return Value::Timestamp(t->seconds, t->nanoseconds, t->offset);
}

struct TimePart {
  std::string_view name, id, with_zone;
  std::int64_t (*get)(const CivilTime& t, std::uint32_t nanos);
};
constexpr TimePart kTimeParts[] = {
    {"getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz",
     [](const CivilTime& t, std::uint32_t) { return t.year; }},
    {"getMonth", "timestamp_to_month", "timestamp_to_month_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.month - 1; }},
    {"getDayOfYear", "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.year_day; }},
    {"getDayOfMonth", "timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.day - 1; }},
    {"getDate", "timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.day; }},
    {"getDayOfWeek", "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.weekday; }},
    {"getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.hour; }},
    {"getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.minute; }},
    {"getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz",
     [](const CivilTime& t, std::uint32_t) -> std::int64_t { return t.second; }},
    {"getMilliseconds", "timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz",
     [](const CivilTime&, std::uint32_t nanos) -> std::int64_t { return nanos / 1'000'000; }}};

template <std::size_t kPart>
Value GetTimePart(Arena& arena, const Value* v, std::size_t count) {
  std::int32_t offset = 0;
  if (count == 2) {
    std::string problem;
    const auto zone = ZoneOffset(v[1].text(), v[0].as_int(), &problem);
    if (!zone) return Value::Error(arena, problem);
    offset = *zone;
  }
  return Value::Int(kTimeParts[kPart].get(ToCivil(v[0].as_int() + offset), v[0].nanoseconds()));
}

template <std::size_t... kParts>
void DeclareTimeParts(LibraryBuilder& library, std::index_sequence<kParts...>) {
  const auto declare = [&](const TimePart& part, NativeFunction call) {
    library.Member(part.name, std::string(part.id), {&types::kTimestamp}, &types::kInt, call);
    library.Member(part.name, std::string(part.with_zone), {&types::kTimestamp, &types::kString},
                   &types::kInt, call);
  };
  (declare(kTimeParts[kParts], GetTimePart<kParts>), ...);
}

// Upstream divides as floating point numbers.
Value DurationHours(Arena&, const Value* v, std::size_t) {
  return Value::Int(v[0].as_int() / (3600 * kNanos));
}
Value DurationMinutes(Arena&, const Value* v, std::size_t) {
  return Value::Int(v[0].as_int() / (60 * kNanos));
}
Value DurationSeconds(Arena&, const Value* v, std::size_t) {
  return Value::Int(v[0].as_int() / kNanos);
}
Value DurationMilliseconds(Arena&, const Value* v, std::size_t) {
  return Value::Int(v[0].as_int() / 1'000'000);
}

void DeclareComparison(LibraryBuilder& library, std::string_view function, const std::string& id,
                       NativeFunction call, bool cross_types) {
  const Type *i = &types::kInt, *u = &types::kUint, *d = &types::kDouble, *b = &types::kBool;
  const auto add = [&](std::string_view suffix, const Type* x, const Type* y,
                       CostRule cost = CostRule::kOne) {
    library.Global(function, id + "_" + std::string(suffix), {x, y}, b, nullptr, cost);
  };
  add("bool", b, b);
  add("int64", i, i);
  if (cross_types) add("int64_double", i, d), add("int64_uint64", i, u);
  add("uint64", u, u);
  if (cross_types) add("uint64_double", u, d), add("uint64_int64", u, i);
  add("double", d, d);
  if (cross_types) add("double_int64", d, i), add("double_uint64", d, u);
  add("string", &types::kString, &types::kString, CostRule::kScanShorter);
  add("bytes", &types::kBytes, &types::kBytes, CostRule::kScanShorter);
  add("timestamp", &types::kTimestamp, &types::kTimestamp);
  add("duration", &types::kDuration, &types::kDuration);
  library.Singleton(function, call, Trait::kComparer);
}

void DeclareArithmetic(LibraryBuilder& library) {
  const Type *i = &types::kInt, *u = &types::kUint, *d = &types::kDouble;
  const Type *duration = &types::kDuration, *timestamp = &types::kTimestamp;
  const Type* list = library.list(library.param("A"));
  library.Global("_+_", "add_bytes", {&types::kBytes, &types::kBytes}, &types::kBytes, nullptr,
                 CostRule::kScanBoth);
  library.Global("_+_", "add_double", {d, d}, d, nullptr);
  library.Global("_+_", "add_duration_duration", {duration, duration}, duration, nullptr);
  library.Global("_+_", "add_duration_timestamp", {duration, timestamp}, timestamp, nullptr);
  library.Global("_+_", "add_timestamp_duration", {timestamp, duration}, timestamp, nullptr);
  library.Global("_+_", "add_int64", {i, i}, i, nullptr);
  library.Global("_+_", "add_list", {list, list}, list, nullptr);
  library.Global("_+_", "add_string", {&types::kString, &types::kString}, &types::kString, nullptr,
                 CostRule::kScanBoth);
  library.Global("_+_", "add_uint64", {u, u}, u, nullptr);
  library.Singleton("_+_", Add, Trait::kAdder);
  const auto number = [&](std::string_view function, const std::string& id, bool with_double) {
    if (with_double) library.Global(function, id + "_double", {d, d}, d, nullptr);
    library.Global(function, id + "_int64", {i, i}, i, nullptr);
    library.Global(function, id + "_uint64", {u, u}, u, nullptr);
  };
  number("_/_", "divide", true);
  library.Singleton("_/_", Divide, Trait::kDivider);
  number("_%_", "modulo", false);
  library.Singleton("_%_", Modulo, Trait::kModder);
  number("_*_", "multiply", true);
  library.Singleton("_*_", Multiply, Trait::kMultiplier);
  library.Global("-_", "negate_double", {d}, d, nullptr);
  library.Global("-_", "negate_int64", {i}, i, nullptr);
  library.Singleton("-_", Negate, Trait::kNegator);
  library.Global("_-_", "subtract_double", {d, d}, d, nullptr);
  library.Global("_-_", "subtract_duration_duration", {duration, duration}, duration, nullptr);
  library.Global("_-_", "subtract_int64", {i, i}, i, nullptr);
  library.Global("_-_", "subtract_timestamp_duration", {timestamp, duration}, timestamp, nullptr);
  library.Global("_-_", "subtract_timestamp_timestamp", {timestamp, timestamp}, duration, nullptr);
  library.Global("_-_", "subtract_uint64", {u, u}, u, nullptr);
  library.Singleton("_-_", Subtract, Trait::kSubtractor);
}

void DeclareSizes(LibraryBuilder& library, const Type* list, const Type* map) {
  const auto size = [&](const std::string& name, const Type* type) {
    library.Global("size", "size_" + name, {type}, &types::kInt, nullptr);
    library.Member("size", name + "_size", {type}, &types::kInt, nullptr);
  };
  size("bytes", &types::kBytes);
  size("list", list);
  size("map", map);
  size("string", &types::kString);
  library.Singleton("size", Size, Trait::kSizer);
}

void DeclareTypeNames(LibraryBuilder& library) {
  for (const Type* type :
       {&types::kBool, &types::kBytes, &types::kDouble, &types::kDuration, &types::kInt, &types::kListDyn,
        &types::kMapDyn, &types::kNull, &types::kString, &types::kTimestamp, &types::kType, &types::kUint})
    library.NameType(type);
  const auto wrapper = [&](std::string_view name, const Type& type) {
    library.NameMessage(name, library.types().Wrapper(type));
  };
  wrapper("google.protobuf.BoolValue", types::kBool);
  wrapper("google.protobuf.BytesValue", types::kBytes);
  wrapper("google.protobuf.DoubleValue", types::kDouble);
  wrapper("google.protobuf.FloatValue", types::kDouble);
  wrapper("google.protobuf.Int32Value", types::kInt);
  wrapper("google.protobuf.Int64Value", types::kInt);
  wrapper("google.protobuf.StringValue", types::kString);
  wrapper("google.protobuf.UInt32Value", types::kUint);
  wrapper("google.protobuf.UInt64Value", types::kUint);
  library.NameMessage("google.protobuf.Any", &types::kAny);
  library.NameMessage("google.protobuf.Duration", &types::kDuration);
  library.NameMessage("google.protobuf.Timestamp", &types::kTimestamp);
  library.NameMessage("google.protobuf.Value", &types::kDyn);
  library.NameMessage("google.protobuf.ListValue", &types::kListDyn);
  library.NameMessage("google.protobuf.Struct", library.map(&types::kString, &types::kDyn));
}

}  // namespace

void DeclareStandardLibrary(LibraryBuilder& library, bool cross_type_comparisons) {
  const Type *a = library.param("A"), *b = library.param("B");
  const Type *list = library.list(a), *map = library.map(a, b), *boolean = &types::kBool;
  DeclareTypeNames(library);
  // The planner evaluates these itself.
  library.Global("_?_:_", "conditional", {boolean, a, a}, a, nullptr).non_strict = true;
  library.Global("_&&_", "logical_and", {boolean, boolean}, boolean, nullptr).non_strict = true;
  library.Global("_||_", "logical_or", {boolean, boolean}, boolean, nullptr).non_strict = true;
  library.Global("!_", "logical_not", {boolean}, boolean, nullptr);
  library.Singleton("!_", Not, Trait::kNone);
  library.Global("@not_strictly_false", "not_strictly_false", {boolean}, boolean, NotStrictlyFalse)
      .non_strict = true;
  library.Global("_==_", "equals", {a, a}, boolean, nullptr, CostRule::kEquality);
  library.Global("_!=_", "not_equals", {a, a}, boolean, nullptr, CostRule::kScanShorter);
  DeclareArithmetic(library);
  DeclareComparison(library, "_<_", "less", Less, cross_type_comparisons);
  DeclareComparison(library, "_<=_", "less_equals", LessEquals, cross_type_comparisons);
  DeclareComparison(library, "_>_", "greater", Greater, cross_type_comparisons);
  DeclareComparison(library, "_>=_", "greater_equals", GreaterEquals, cross_type_comparisons);
  library.Global("_[_]", "index_list", {list, &types::kInt}, a, nullptr);
  library.Global("_[_]", "index_map", {map, a}, b, nullptr);
  library.Global("@in", "in_list", {a, list}, boolean, nullptr, CostRule::kSecondSize);
  library.Global("@in", "in_map", {a, map}, boolean, nullptr);
  library.Singleton("@in", In, Trait::kNone);
  DeclareSizes(library, list, map);
  const Type* text = &types::kString;
  library.Member("contains", "contains_string", {text, text}, boolean, Contains, CostRule::kContains);
  library.Member("endsWith", "ends_with_string", {text, text}, boolean, EndsWith, CostRule::kScanSecond);
  library.Member("startsWith", "starts_with_string", {text, text}, boolean, StartsWith,
                 CostRule::kScanSecond);
  for (std::string_view name : {"contains", "endsWith", "startsWith"}) library.Function(name).guards = false;
  library.Global("matches", "matches", {text, text}, boolean, nullptr, CostRule::kRegex);
  library.Member("matches", "matches_string", {text, text}, boolean, nullptr, CostRule::kRegex);
  library.Singleton("matches", Matches, Trait::kMatcher);
}

void DeclareConversions(LibraryBuilder& library) {
  const Type *boolean = &types::kBool, *bytes = &types::kBytes, *d = &types::kDouble,
             *duration = &types::kDuration, *i = &types::kInt, *text = &types::kString,
             *timestamp = &types::kTimestamp, *u = &types::kUint;
  const Type* a = library.param("A");
  library.Global("type", "type", {a}, library.types().TypeOf(a), nullptr);
  library.Singleton("type", TypeOf, Trait::kNone);
  library.Global("dyn", "to_dyn", {a}, &types::kDyn, nullptr);
  library.Singleton("dyn", Identity, Trait::kNone);
  library.Global("bool", "bool_to_bool", {boolean}, boolean, Identity);
  library.Global("bool", "string_to_bool", {text}, boolean, ToBool);
  library.Global("bytes", "bytes_to_bytes", {bytes}, bytes, Identity);
  library.Global("bytes", "string_to_bytes", {text}, bytes, ToBytes, CostRule::kScanFirst);
  library.Global("double", "double_to_double", {d}, d, Identity);
  library.Global("double", "int64_to_double", {i}, d, ToDouble);
  library.Global("double", "string_to_double", {text}, d, ToDouble);
  library.Global("double", "uint64_to_double", {u}, d, ToDouble);
  library.Global("duration", "duration_to_duration", {duration}, duration, Identity);
  library.Global("duration", "string_to_duration", {text}, duration, ToDuration);
  library.Global("int", "int64_to_int64", {i}, i, Identity);
  library.Global("int", "double_to_int64", {d}, i, ToInt);
  library.Global("int", "duration_to_int64", {duration}, i, ToInt);
  library.Global("int", "string_to_int64", {text}, i, ToInt);
  library.Global("int", "timestamp_to_int64", {timestamp}, i, ToInt);
  library.Global("int", "uint64_to_int64", {u}, i, ToInt);
  library.Global("string", "string_to_string", {text}, text, Identity);
  library.Global("string", "bool_to_string", {boolean}, text, ToText);
  library.Global("string", "bytes_to_string", {bytes}, text, ToText, CostRule::kScanFirst);
  library.Global("string", "double_to_string", {d}, text, ToText);
  library.Global("string", "duration_to_string", {duration}, text, ToText);
  library.Global("string", "int64_to_string", {i}, text, ToText);
  library.Global("string", "timestamp_to_string", {timestamp}, text, ToText);
  library.Global("string", "uint64_to_string", {u}, text, ToText);
  library.Global("timestamp", "timestamp_to_timestamp", {timestamp}, timestamp, Identity);
  library.Global("timestamp", "int64_to_timestamp", {i}, timestamp, ToTimestamp);
  library.Global("timestamp", "string_to_timestamp", {text}, timestamp, ToTimestamp);
  library.Global("uint", "uint64_to_uint64", {u}, u, Identity);
  library.Global("uint", "double_to_uint64", {d}, u, ToUint);
  library.Global("uint", "int64_to_uint64", {i}, u, ToUint);
  library.Global("uint", "string_to_uint64", {text}, u, ToUint);
}

void DeclareTimeFunctions(LibraryBuilder& library) {
  DeclareTimeParts(library, std::make_index_sequence<std::size(kTimeParts)>());
  library.Member("getHours", "duration_to_hours", {&types::kDuration}, &types::kInt, DurationHours);
  library.Member("getMinutes", "duration_to_minutes", {&types::kDuration}, &types::kInt, DurationMinutes);
  library.Member("getSeconds", "duration_to_seconds", {&types::kDuration}, &types::kInt, DurationSeconds);
  library.Member("getMilliseconds", "duration_to_milliseconds", {&types::kDuration}, &types::kInt,
                 DurationMilliseconds);
}

}  // namespace flyball::cel
