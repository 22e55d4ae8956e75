// Lists, sets, optionals and the functions behind macros (upstream: cel-go ext/lists.go, ext/sets.go,
// cel/library.go, apiserver cel/library/lists.go).
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cel/library/library_builder.h"

namespace flyball::cel {
namespace {

constexpr ErrorText kNoneDereferenced{"optional.none() dereference"};
constexpr std::int64_t kMaxRange = 1'000'000;

Value Take(const GrowingList& list) {
  return Value::List(list.elements, list.size);
}

Value IsSorted(Arena& arena, const Value* v, std::size_t) {
  Value previous;
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    const Value next = ListElement(arena, v[0], i);
    if (!HasTrait(next, Trait::kComparer)) return next.IsError() ? next : NoSuchOverload();
    if (i) {
      const Value order = CompareValues(arena, previous, next);
      if (order.Is(ValueKind::kInt) && order.as_int() == 1) return Value::Bool(false);
    }
    previous = next;
  }
  return Value::Bool(true);
}

template <int kZero>
Value Sum(Arena& arena, const Value* v, std::size_t) {
  static constexpr ValueKind kKinds[] = {ValueKind::kInt, ValueKind::kUint, ValueKind::kDouble,
                                         ValueKind::kDuration};
  Value pair[2] = {Value::Int(0)};
  if (kKinds[kZero] == ValueKind::kUint) pair[0] = Value::Uint(0);
  if (kKinds[kZero] == ValueKind::kDouble) pair[0] = Value::Double(0);
  if (kKinds[kZero] == ValueKind::kDuration) pair[0] = Value::Duration(0);
  const FunctionDecl* add = Environment::Stored().FindFunction("_+_");
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    pair[1] = ListElement(arena, v[0], i);
    if (pair[1].IsError()) return pair[1];
    if (!HasTrait(pair[1], Trait::kAdder)) return NoSuchOverload();
    pair[0] = add->singleton(arena, pair, 2);
    if (pair[0].IsError()) return pair[0];
  }
  return pair[0];
}

template <int kBetter>
Value Extreme(Arena& arena, const Value* v, std::size_t) {
  Value best;
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    const Value next = ListElement(arena, v[0], i);
    if (!HasTrait(next, Trait::kComparer)) return next.IsError() ? next : NoSuchOverload();
    if (i == 0) {
      best = next;
      continue;
    }
    const Value order = CompareValues(arena, best, next);
    if (order.Is(ValueKind::kInt) && order.as_int() == kBetter) best = next;
  }
  if (ListSize(v[0]) == 0)
    return Value::Error(arena, std::string(kBetter == 1 ? "min" : "max") + " called on empty list");
  return best;
}

Value ListIndexOf(Arena& arena, const Value* v, std::size_t) {
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i)
    if (EqualValues(arena, ListElement(arena, v[0], i), v[1]).IsTrue())
      return Value::Int(static_cast<std::int64_t>(i));
  return Value::Int(-1);
}
Value ListLastIndexOf(Arena& arena, const Value* v, std::size_t) {
  for (std::size_t i = ListSize(v[0]); i-- > 0;)
    if (EqualValues(arena, ListElement(arena, v[0], i), v[1]).IsTrue())
      return Value::Int(static_cast<std::int64_t>(i));
  return Value::Int(-1);
}
Value Includes(Arena& arena, const Value* v, std::size_t) {
  if (!v[0].Is(ValueKind::kList)) return Value::Bool(EqualValues(arena, v[0], v[1]).IsTrue());
  return Value::Bool(ListIndexOf(arena, v, 2).as_int() >= 0);
}

Value Slice(Arena& arena, const Value* v, std::size_t) {
  const std::int64_t start = v[1].as_int(), end = v[2].as_int(),
                     size = static_cast<std::int64_t>(ListSize(v[0]));
  const std::string call = "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return Value::Error(arena, call + "negative indexes not supported");
  if (start > end) return Value::Error(arena, call + "start index must be less than or equal to end index");
  if (size < end) return Value::Error(arena, call + "list is length " + std::to_string(size));
  GrowingList list(arena);
  for (std::int64_t i = start; i < end; ++i)
    list.Append(ListElement(arena, v[0], static_cast<std::size_t>(i)));
  return Take(list);
}

void FlattenInto(Arena& arena, const Value& list, std::int64_t depth, GrowingList& out) {
  for (std::size_t i = 0, n = ListSize(list); i < n; ++i) {
    const Value element = ListElement(arena, list, i);
    if (element.Is(ValueKind::kList) && depth > 0)
      FlattenInto(arena, element, depth - 1, out);
    else
      out.Append(element);
  }
}
Value Flatten(Arena& arena, const Value* v, std::size_t count) {
  if (!v[0].Is(ValueKind::kList) || (count == 2 && !v[1].Is(ValueKind::kInt))) {
    std::string text = "no such overload: " + std::string(TypeNameOf(v[0])) + ".flatten(";
    return Value::Error(arena, text + (count == 2 ? std::string(TypeNameOf(v[1])) : "") + ")");
  }
  const std::int64_t depth = count == 2 ? v[1].as_int() : 1;
  if (depth < 0) return Value::Error(arena, "level must be non-negative");
  GrowingList list(arena);
  FlattenInto(arena, v[0], std::min<std::int64_t>(depth, 1000), list);
  return Take(list);
}

Value SortBy(Arena& arena, const Value& list, const Value& keys) {
  const std::size_t size = ListSize(list);
  if (size != ListSize(keys))
    return Value::Error(
        arena,
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
            std::to_string(size) + " and " + std::to_string(ListSize(keys)) + " elements respectively");
  if (size == 0) return list;
  std::vector<Value> key(size);
  for (std::size_t i = 0; i < size; ++i) key[i] = ListElement(arena, keys, i);
  if (!HasTrait(key[0], Trait::kComparer)) return Value::Error(arena, "list elements must be comparable");
  for (const Value& k : key)
    if (k.kind() != key[0].kind()) return Value::Error(arena, "list elements must have the same type");
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Value compared = CompareValues(arena, key[a], key[b]);
    return compared.Is(ValueKind::kInt) && compared.as_int() < 0;
  });
  GrowingList sorted(arena);
  for (std::size_t i : order) sorted.Append(ListElement(arena, list, i));
  return Take(sorted);
}
Value Sort(Arena& arena, const Value* v, std::size_t) {
  return SortBy(arena, v[0], v[0]);
}
Value SortByKeys(Arena& arena, const Value* v, std::size_t) {
  if (!v[1].Is(ValueKind::kList)) return NoSuchOverload();
  return SortBy(arena, v[0], v[1]);
}

Value MakeRange(Arena& arena, const Value* v, std::size_t) {
  const std::int64_t n = v[0].as_int();
  if (n < 0) return Value::Error(arena, "lists.range: size must be non-negative, got " + std::to_string(n));
  if (n > kMaxRange)
    return Value::Error(arena, "lists.range: size " + std::to_string(n) + " exceeds maximum allowed (" +
                                   std::to_string(kMaxRange) + ")");
  Value* elements = arena.NewArray<Value>(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) new (elements + i) Value(Value::Int(i));
  return Value::List(elements, static_cast<std::size_t>(n));
}
Value Reverse(Arena& arena, const Value* v, std::size_t) {
  GrowingList list(arena);
  for (std::size_t i = ListSize(v[0]); i-- > 0;) list.Append(ListElement(arena, v[0], i));
  return Take(list);
}
Value Distinct(Arena& arena, const Value* v, std::size_t) {
  GrowingList list(arena);
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    const Value value = ListElement(arena, v[0], i);
    bool seen = false;
    for (std::size_t k = 0; k < list.size && !seen; ++k)
      seen = EqualValues(arena, value, list.elements[k]).IsTrue();
    if (!seen) list.Append(value);
  }
  return Take(list);
}

bool HoldsValue(Arena& arena, const Value& list, const Value& value) {
  for (std::size_t i = 0, n = ListSize(list); i < n; ++i)
    if (EqualValues(arena, value, ListElement(arena, list, i)).IsTrue()) return true;
  return false;
}
bool HoldsAll(Arena& arena, const Value& list, const Value& part) {
  for (std::size_t i = 0, n = ListSize(part); i < n; ++i)
    if (!HoldsValue(arena, list, ListElement(arena, part, i))) return false;
  return true;
}
Value SetsContains(Arena& arena, const Value* v, std::size_t) {
  return Value::Bool(HoldsAll(arena, v[0], v[1]));
}
Value SetsEquivalent(Arena& arena, const Value* v, std::size_t) {
  return Value::Bool(HoldsAll(arena, v[0], v[1]) && HoldsAll(arena, v[1], v[0]));
}
Value SetsIntersects(Arena& arena, const Value* v, std::size_t) {
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i)
    if (HoldsValue(arena, v[1], ListElement(arena, v[0], i))) return Value::Bool(true);
  return Value::Bool(false);
}

Value OptionalOf(Arena& arena, const Value* v, std::size_t) {
  return Value::Some(arena, v[0]);
}
Value OptionalOfNonZero(Arena& arena, const Value* v, std::size_t) {
  return IsZeroValue(v[0]) ? Value::None() : Value::Some(arena, v[0]);
}
Value OptionalNone(Arena&, const Value*, std::size_t) {
  return Value::None();
}
Value OptionalValue(Arena&, const Value* v, std::size_t) {
  return v[0].optional() ? *v[0].optional() : Value::Error(&kNoneDereferenced);
}
Value OptionalHasValue(Arena&, const Value* v, std::size_t) {
  return Value::Bool(v[0].optional() != nullptr);
}
Value First(Arena& arena, const Value* v, std::size_t) {
  return ListSize(v[0]) ? Value::Some(arena, ListElement(arena, v[0], 0)) : Value::None();
}
Value Last(Arena& arena, const Value* v, std::size_t) {
  const std::size_t size = ListSize(v[0]);
  return size ? Value::Some(arena, ListElement(arena, v[0], size - 1)) : Value::None();
}
Value Unwrap(Arena& arena, const Value* v, std::size_t) {
  GrowingList list(arena);
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    const Value element = ListElement(arena, v[0], i);
    if (!element.Is(ValueKind::kOptional))
      return Value::Error(arena, "value " + DisplayText(arena, element) + " is not optional");
    if (element.optional()) list.Append(*element.optional());
  }
  return Take(list);
}

bool InsertEntry(Arena& arena, MapTable& table, const Value& key, const Value& value, Value* error) {
  if (table.Find(key)) {
    *error = Value::Error(arena, "insert failed: key " + DisplayText(arena, key) + " already exists");
    return false;
  }
  table.Set(key, value);
  return true;
}

// The map to insert into: the one a comprehension is building, or a copy.
MapTable* MutableMap(Arena& arena, const Value& map) {
  if (map.holding() == Holding::kGrowing) return &map.growing_map();
  auto* table = arena.New<MapTable>(arena);
  ForEachEntry(arena, map, true, [&](const Value& key, const Value& value) {
    table->Set(key, value);
    return true;
  });
  return table;
}
Value MapResult(const Value& map, MapTable* table) {
  return map.holding() == Holding::kGrowing ? map : Value::Map(table);
}
Value MapInsert(Arena& arena, const Value* v, std::size_t) {
  MapTable* table = MutableMap(arena, v[0]);
  Value error;
  return InsertEntry(arena, *table, v[1], v[2], &error) ? MapResult(v[0], table) : error;
}
Value MapInsertAll(Arena& arena, const Value* v, std::size_t) {
  MapTable* table = MutableMap(arena, v[0]);
  Value error;
  bool fine = true;
  ForEachEntry(arena, v[1], true, [&](const Value& key, const Value& value) {
    return fine = InsertEntry(arena, *table, key, value, &error);
  });
  return fine ? MapResult(v[0], table) : error;
}

struct NamedElement {
  std::string_view name;
  const Type* type;
};
constexpr NamedElement kComparable[] = {{"int", &types::kInt},           {"uint", &types::kUint},
                                        {"double", &types::kDouble},     {"bool", &types::kBool},
                                        {"duration", &types::kDuration}, {"timestamp", &types::kTimestamp},
                                        {"string", &types::kString},     {"bytes", &types::kBytes}};

}  // namespace

void DeclareKubernetesLists(LibraryBuilder& library, bool with_includes) {
  for (const auto& [name, type] : kComparable) {
    const std::string prefix = "list_" + std::string(name);
    const Type* list = library.list(type);
    library.Member("isSorted", prefix + "_is_sorted_bool", {list}, &types::kBool, IsSorted,
                   CostRule::kTraversal);
    library.Member("max", prefix + "_max_" + std::string(name), {list}, type, Extreme<-1>,
                   CostRule::kTraversal);
    library.Member("min", prefix + "_min_" + std::string(name), {list}, type, Extreme<1>,
                   CostRule::kTraversal);
  }
  const auto sum = [&](const std::string& name, const Type* type, NativeFunction call) {
    library.Member("sum", "list_" + name + "_sum_" + name, {library.list(type)}, type, call,
                   CostRule::kTraversal);
  };
  sum("int", &types::kInt, Sum<0>);
  sum("uint", &types::kUint, Sum<1>);
  sum("double", &types::kDouble, Sum<2>);
  sum("duration", &types::kDuration, Sum<3>);
  const Type* a = library.param("A");
  const Type* list = library.list(a);
  library.Member("indexOf", "list_a_index_of_int", {list, a}, &types::kInt, ListIndexOf,
                 CostRule::kTraversal);
  library.Member("lastIndexOf", "list_a_last_index_of_int", {list, a}, &types::kInt, ListLastIndexOf,
                 CostRule::kTraversal);
  if (with_includes)
    library.Member("includes", "list_includes_dyn_dyn", {&types::kDyn, &types::kDyn}, &types::kBool, Includes,
                   CostRule::kTraversal);
}

void DeclareExtendedLists(LibraryBuilder& library) {
  const Type *t = library.param("T"), *i = &types::kInt;
  const Type *list = library.list(t), *dyn = library.list(&types::kDyn);
  library.Member("slice", "list_slice", {list, i, i}, list, Slice, CostRule::kListOutput);
  library.Member("flatten", "list_flatten", {library.list(list)}, list, Flatten, CostRule::kListFlatten);
  library.Member("flatten", "list_flatten_int", {dyn, i}, dyn, Flatten, CostRule::kListFlatten);
  library.Function("flatten").guards = false;
  for (const Type* type : {i, &types::kUint, &types::kDouble, &types::kBool, &types::kDuration,
                           &types::kTimestamp, &types::kString, &types::kBytes}) {
    library.Member("sort", "list_" + type->name + "_sort", {library.list(type)}, library.list(type), nullptr,
                   CostRule::kListCompareFirst);
    library.Member("@sortByAssociatedKeys", "list_" + type->name + "_sortByAssociatedKeys",
                   {list, library.list(type)}, list, nullptr, CostRule::kListCompareSecond);
  }
  library.Singleton("sort", Sort, Trait::kLister);
  library.Singleton("@sortByAssociatedKeys", SortByKeys, Trait::kLister);
  library.Global("lists.range", "lists_range", {i}, library.list(i), MakeRange, CostRule::kListOutput);
  library.Member("reverse", "list_reverse", {list}, list, Reverse, CostRule::kListOutput);
  library.Member("distinct", "list_distinct", {list}, list, Distinct, CostRule::kListCompareFirst);
}

void DeclareSets(LibraryBuilder& library) {
  const Type* list = library.list(library.param("T"));
  library.Global("sets.contains", "list_sets_contains_list", {list, list}, &types::kBool, SetsContains,
                 CostRule::kSetsOnce);
  library.Global("sets.equivalent", "list_sets_equivalent_list", {list, list}, &types::kBool, SetsEquivalent,
                 CostRule::kSetsTwice);
  library.Global("sets.intersects", "list_sets_intersects_list", {list, list}, &types::kBool, SetsIntersects,
                 CostRule::kSetsOnce);
}

void DeclareOptionals(LibraryBuilder& library) {
  const Type *k = library.param("K"), *v = library.param("V");
  const Type *some = library.optional(v), *list = library.list(v), *map = library.map(k, v);
  library.NameType(&types::kOptionalDyn);
  library.Global("optional.of", "optional_of", {v}, some, OptionalOf);
  library.Global("optional.ofNonZeroValue", "optional_ofNonZeroValue", {v}, some, OptionalOfNonZero);
  library.Global("optional.none", "optional_none", {}, some, OptionalNone);
  library.Member("value", "optional_value", {some}, v, OptionalValue);
  library.Member("hasValue", "optional_hasValue", {some}, &types::kBool, OptionalHasValue);
  // The planner evaluates these itself.
  library.Member("or", "optional_or_optional", {some, some}, some, nullptr);
  library.Member("orValue", "optional_orValue_value", {some, v}, v, nullptr);
  library.Global("_?._", "select_optional_field", {&types::kDyn, &types::kString}, some, nullptr);
  library.Global("_[?_]", "list_optindex_optional_int", {list, &types::kInt}, some, nullptr);
  library.Global("_[?_]", "optional_list_optindex_optional_int", {library.optional(list), &types::kInt}, some,
                 nullptr);
  library.Global("_[?_]", "map_optindex_optional_value", {map, k}, some, nullptr);
  library.Global("_[?_]", "optional_map_optindex_optional_value", {library.optional(map), k}, some, nullptr);
  library.Global("_[_]", "optional_list_index_int", {library.optional(list), &types::kInt}, some, nullptr);
  library.Global("_[_]", "optional_map_index_value", {library.optional(map), k}, some, nullptr);
  library.Member("last", "list_last", {list}, some, Last);
  library.Member("first", "list_first", {list}, some, First);
  library.Global("optional.unwrap", "optional_unwrap", {library.list(some)}, list, Unwrap);
  library.Member("unwrapOpt", "optional_unwrapOpt", {library.list(some)}, list, Unwrap);
}

void DeclareTwoVariableFunctions(LibraryBuilder& library) {
  const Type *k = library.param("K"), *v = library.param("V");
  const Type* map = library.map(k, v);
  library.Global("cel.@mapInsert", "@mapInsert_map_key_value", {map, k, v}, map, MapInsert);
  library.Global("cel.@mapInsert", "@mapInsert_map_map", {map, map}, map, MapInsertAll);
}

}  // namespace flyball::cel
