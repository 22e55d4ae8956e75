// Value: what an expression works on. 24 bytes, copied freely; text and elements are pointed to and stay
// where they are: in the JSON object that is checked, in the program's constants or in the evaluation's
// Arena. So a Value is good as long as these three are. Thread-compatible.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/types/type.h"
#include "cel/values/arena.h"
#include "json/value.h"

namespace flyball::cel {

class Schema;
class Value;
struct OpaqueValue;

enum class ValueKind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kType,
  kList,
  kMap,
  kOptional,
  kOpaque,     // IP addresses, quantities, authorizers: see opaque.h
  kPreserved,  // JSON whose schema has no type: can be compared and nothing else
  kError,
};

// How a list or map is held.
enum class Holding : std::uint8_t {
  kJson,    // json::Array or json::Object; with a Schema if the value is typed
  kValues,  // an array of Values, or a MapTable
  kConcat,  // two lists one after the other
  kGrowing  // the list or map a comprehension is building
};

struct ErrorText {
  std::string_view message;
};
struct Concatenation;
struct GrowingList;
class MapTable;

class Value {
 public:
  Value() : Value(ValueKind::kNull, Holding::kValues, 0, 0, 0) {}
  static Value Bool(bool b) { return Make(ValueKind::kBool, b ? 1 : 0); }
  static Value Int(std::int64_t i) { return Make(ValueKind::kInt, i); }
  static Value Uint(std::uint64_t u) { return Make(ValueKind::kUint, static_cast<std::int64_t>(u)); }
  static Value Double(double d) { return Make(ValueKind::kDouble, std::bit_cast<std::int64_t>(d)); }
  static Value String(std::string_view s) { return Text(ValueKind::kString, s); }
  static Value Bytes(std::string_view s) { return Text(ValueKind::kBytes, s); }
  static Value Duration(std::int64_t nanoseconds) { return Make(ValueKind::kDuration, nanoseconds); }
  // `offset`: seconds east of UTC that its text is written with.
  static Value Timestamp(std::int64_t seconds, std::uint32_t nanoseconds, std::int32_t offset = 0) {
    return Value(ValueKind::kTimestamp, Holding::kValues, nanoseconds, static_cast<std::uint64_t>(seconds),
                 static_cast<std::uint64_t>(static_cast<std::int64_t>(offset)));
  }
  static Value TypeValue(const Type* type) { return Pointer(ValueKind::kType, Holding::kValues, type); }
  static Value JsonList(const json::Array& list, const Schema* schema) {
    return Value(ValueKind::kList, Holding::kJson, static_cast<std::uint32_t>(list.size()), Word(&list),
                 Word(schema));
  }
  static Value JsonMap(const json::Object& map, const Schema* schema) {
    return Value(ValueKind::kMap, Holding::kJson, static_cast<std::uint32_t>(map.size()), Word(&map),
                 Word(schema));
  }
  // JSON without a schema whose maps are also looked up by escaped names: x__dot__y finds "x.y" (upstream:
  // the claims of tokens). The same holds for all maps within.
  static Value EscapedJson(const json::Value& value);
  static Value List(const Value* elements, std::size_t count) { return KeyedList(elements, count, nullptr); }
  // A list with the set or map rules of `schema`.
  static Value KeyedList(const Value* elements, std::size_t count, const Schema* schema) {
    return Value(ValueKind::kList, Holding::kValues, static_cast<std::uint32_t>(count), Word(elements),
                 Word(schema));
  }
  static Value Concat(const Concatenation* lists);
  static Value Growing(GrowingList* list) { return Pointer(ValueKind::kList, Holding::kGrowing, list); }
  static Value Map(const MapTable* table) { return Pointer(ValueKind::kMap, Holding::kValues, table); }
  static Value GrowingMap(MapTable* table) { return Pointer(ValueKind::kMap, Holding::kGrowing, table); }
  static Value None() { return Pointer(ValueKind::kOptional, Holding::kValues, nullptr); }
  static Value Some(Arena& arena, const Value& value);
  static Value Opaque(const OpaqueValue* value) {
    return Pointer(ValueKind::kOpaque, Holding::kValues, value);
  }
  static Value Preserved(const json::Value& value) {
    return Pointer(ValueKind::kPreserved, Holding::kJson, &value);
  }
  static Value Error(const ErrorText* error) { return Pointer(ValueKind::kError, Holding::kValues, error); }
  static Value Error(Arena& arena, std::string_view message);

  ValueKind kind() const { return static_cast<ValueKind>(Byte(0)); }
  Holding holding() const { return static_cast<Holding>(Byte(1)); }
  bool Is(ValueKind wanted) const { return kind() == wanted; }
  bool IsError() const { return kind() == ValueKind::kError; }
  bool IsTrue() const { return kind() == ValueKind::kBool && words_[1] != 0; }
  bool IsFalse() const { return kind() == ValueKind::kBool && words_[1] == 0; }

  // Each requires the kind it names.
  bool as_bool() const { return words_[1] != 0; }
  std::int64_t as_int() const {
    return static_cast<std::int64_t>(words_[1]);
  }  // also nanoseconds of a duration, seconds of a timestamp
  std::uint64_t as_uint() const { return words_[1]; }
  double as_double() const { return std::bit_cast<double>(static_cast<std::uint64_t>(words_[1])); }
  std::string_view text() const {
    return {static_cast<const char*>(pointer()), raw_size()};
  }  // of strings and bytes
  std::uint32_t nanoseconds() const { return raw_size(); }
  std::int32_t offset() const { return static_cast<std::int32_t>(aux_word_); }
  const Type* type_value() const { return static_cast<const Type*>(pointer()); }
  const Value* optional() const { return static_cast<const Value*>(pointer()); }  // null if there is none
  const OpaqueValue* opaque() const { return static_cast<const OpaqueValue*>(pointer()); }
  std::string_view error() const { return static_cast<const ErrorText*>(pointer())->message; }
  const json::Value& preserved() const { return *static_cast<const json::Value*>(pointer()); }
  const json::Array& json_list() const { return *static_cast<const json::Array*>(pointer()); }
  const json::Object& json_map() const { return *static_cast<const json::Object*>(pointer()); }
  bool has_escaped_names() const { return Byte(2) != 0; }
  const Schema* schema() const { return holding() == Holding::kJson ? aux_schema() : nullptr; }
  // The schema of a list that is a set or a map of its elements; null for other values.
  const Schema* keyed_by() const;
  const Value* elements() const { return static_cast<const Value*>(pointer()); }
  const Concatenation& concatenation() const { return *static_cast<const Concatenation*>(pointer()); }
  GrowingList& growing_list() const { return *static_cast<GrowingList*>(const_cast<void*>(pointer())); }
  const MapTable& map_table() const { return *static_cast<const MapTable*>(pointer()); }
  MapTable& growing_map() const { return *static_cast<MapTable*>(const_cast<void*>(pointer())); }
  std::uint32_t raw_size() const { return static_cast<std::uint32_t>(words_[0] >> 32); }
  const void* identity() const { return pointer(); }

 private:
  std::uint8_t Byte(int i) const { return static_cast<std::uint8_t>(words_[0] >> (8 * i)); }
  const void* pointer() const {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(words_[1]));
  }
  const Schema* aux_schema() const {
    return reinterpret_cast<const Schema*>(static_cast<std::uintptr_t>(aux_word_));
  }
  // The first two words are written at once: reading a copy of them right afterwards would stall otherwise,
  // and evaluation does little else.
  Value(ValueKind kind, Holding holding, std::uint32_t size, std::uint64_t payload, std::uint64_t aux)
      : words_{static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(holding) << 8 |
                   static_cast<std::uint64_t>(size) << 32,
               payload},
        aux_word_(aux) {}
  static std::uint64_t Word(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
  static Value Make(ValueKind kind, std::int64_t i) {
    return Value(kind, Holding::kValues, 0, static_cast<std::uint64_t>(i), 0);
  }
  static Value Text(ValueKind kind, std::string_view s) {
    return Value(kind, Holding::kValues, static_cast<std::uint32_t>(s.size()), Word(s.data()), 0);
  }
  static Value Pointer(ValueKind kind, Holding holding, const void* pointer) {
    return Value(kind, holding, 0, Word(pointer), 0);
  }

  // In two steps: clang lowers the alignment of a name, not of the vector itself.
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  using Words [[gnu::aligned(8)]] = Pair;
  // Kind in the first byte, holding in the second, whether names are escaped in the third; in the upper half
  // the size of text in bytes, of JSON and plain lists, or the nanoseconds of a timestamp. Then what the kind
  // says: a number, or a pointer.
  Words words_;
  std::uint64_t aux_word_;  // a Schema, or the offset of a timestamp
};
static_assert(sizeof(Value) == 24, "evaluation copies these all the time: keep them small");

struct Concatenation {
  Value first, second;
  std::size_t size;
};

struct GrowingList {
  explicit GrowingList(Arena& a) : arena(a) {}
  void Append(const Value& value);
  Arena& arena;
  Value* elements = nullptr;
  std::size_t size = 0, capacity = 0;
};

// A map made by an expression: entries in the order they came, found by hash once there are many.
class MapTable {
 public:
  struct Entry {
    Value key, value;
  };
  explicit MapTable(Arena& arena) : arena_(arena) {}

  // The same kind and value; numbers of other kinds are found as CEL compares them.
  const Value* Find(const Value& key) const;
  // Adds, or replaces the value.
  void Set(const Value& key, const Value& value);
  void Erase(const Value& key);
  // What indexing by an absent key gives (upstream: maps with a default value); null if that is an error.
  // `in` and iteration do not see it. It must outlive the table.
  void set_otherwise(const Value* value) { otherwise_ = value; }
  const Value* otherwise() const { return otherwise_; }
  std::size_t size() const { return size_; }
  const Entry* begin() const { return entries_; }
  const Entry* end() const { return entries_ + size_; }

 private:
  std::size_t FindExactly(const Value& key) const;
  void Grow();
  void Index(std::size_t position);

  Arena& arena_;
  Entry* entries_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
  std::uint32_t* slots_ = nullptr;  // position + 1; 0 is empty
  std::size_t slot_count_ = 0;
  const Value* otherwise_ = nullptr;
};

// Reading lists and maps, however they are held. Indices must be in range.
std::size_t ListSize(const Value& list);
Value ListElement(Arena& arena, const Value& list, std::size_t index);
std::size_t MapSize(const Value& map);
// Calls visit(key, value) for each entry until it returns false. Typed objects show only declared properties,
// with escaped names; values are converted only if `values`.
template <typename Visit>
void ForEachEntry(Arena& arena, const Value& map, bool values, Visit&& visit);
// True and the value if the map has the key. An error value may be "found": typed maps refuse other keys than
// strings.
bool MapFind(Arena& arena, const Value& map, const Value& key, Value* found);
bool MapFind(Arena& arena, const Value& map, std::string_view key, Value* found);

// The value that JSON means: by schema, or plainly without one. May be an error value.
Value FromJson(Arena& arena, const json::Value& value, const Schema* schema);

// Upstream's Equal: true, false, or an error where the types cannot be compared.
Value EqualValues(Arena& arena, const Value& a, const Value& b);
// -1, 0, 1 or an error.
Value CompareValues(Arena& arena, const Value& a, const Value& b);

// Characters of a string, bytes, elements; for the cost of operations also of addresses; 1 for all else.
std::uint64_t CostSize(const Value& value);
std::size_t CountCharacters(std::string_view text);

// "int", "list", "google.protobuf.Timestamp".
std::string_view TypeNameOf(const Value& value);
const Type* TypeOfValue(const Value& value);
// As Go's %v shows the value in messages: text plain, lists in brackets.
std::string DisplayText(Arena& arena, const Value& value);
// Go's name of the value's type in cel-go: "types.String".
std::string_view GoTypeName(const Value& value);
bool IsZeroValue(const Value& value);

// Error values that need no memory.
Value NoSuchOverload();

namespace internal {
struct EntrySource {
  const json::Object::Member* member;
  const Schema* schema;  // of the value
  std::string_view key;
};
// An element or entry of `container`, which is JSON.
Value FromMember(Arena& arena, const Value& container, const json::Value& value, const Schema* schema);
// The entries of a JSON map that an expression can see; false ends.
bool NextJsonEntry(const Value& map, std::size_t* position, EntrySource* entry);
}  // namespace internal

template <typename Visit>
void ForEachEntry(Arena& arena, const Value& map, bool values, Visit&& visit) {
  if (map.holding() == Holding::kJson) {
    internal::EntrySource entry;
    for (std::size_t i = 0; internal::NextJsonEntry(map, &i, &entry);) {
      const Value value =
          values ? internal::FromMember(arena, map, entry.member->second, entry.schema) : Value();
      if (!visit(Value::String(entry.key), value)) return;
    }
    return;
  }
  for (const MapTable::Entry& entry : map.map_table())
    if (!visit(entry.key, entry.value)) return;
}

}  // namespace flyball::cel
