#include "api/apply/object_fields.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "api/apply/apply_type.h"

namespace flyball::api {
namespace {

using json::Value;

// ---- FieldsOf

// A member on its way into a set. Sorted before its node is made: nodes are dear to move.
struct Entry {
  std::uint64_t prefix;  // the name's first bytes, in the order names sort
  const json::Object::Member* member;
  ApplyType type;
  const FieldInfo* field;  // null: a map's entry

  Entry(const json::Object::Member& m, const MemberType& t)
      : prefix(PrefixOf(m.first)), member(&m), type(t.type), field(t.field) {}

  bool operator<(const Entry& other) const {
    return prefix != other.prefix ? prefix < other.prefix : member->first < other.member->first;
  }

  static std::uint64_t PrefixOf(std::string_view name) {
    std::uint64_t prefix = 0;
    if (name.size() >= sizeof(prefix)) {
      std::memcpy(&prefix, name.data(), sizeof(prefix));
      return __builtin_bswap64(prefix);  // so that the first byte weighs most
    }
    for (const char c : name) prefix = prefix << 8 | static_cast<unsigned char>(c);
    return name.empty() ? 0 : prefix << 8 * (sizeof(prefix) - name.size());
  }
};

struct Item {
  PathElement element;
  const Value* value;
};

// The items by their elements, those that have none left out; equal ones next to each other in list order.
std::vector<Item> SortedItems(const ApplyType& type, const Value* list) {
  std::vector<Item> items;
  if (list == nullptr || !list->is_array()) return items;
  items.reserve(list->size());
  for (const Value& value : list->as_array()) {
    if (auto element = ItemElement(type, value)) items.push_back({std::move(*element), &value});
  }
  const auto before = [](const Item& a, const Item& b) { return a.element < b.element; };
  if (!std::is_sorted(items.begin(), items.end(), before)) {
    std::stable_sort(items.begin(), items.end(), before);
  }
  return items;
}

// The end of the run of equal elements that begins at `first`.
std::size_t RunEnd(const std::vector<Item>& items, std::size_t first) {
  std::size_t last = first + 1;
  while (last < items.size() && items[last].element == items[first].element) ++last;
  return last;
}

class Collector {
 public:
  // Adds what lies below the value to an empty set. True if the value is a field itself.
  bool Collect(const ApplyType& type, const Value& value, FieldSet& below) {
    const Grain grain = depth_ < FieldSet::kMaxDepth ? GrainOf(type, value) : Grain::kWhole;
    ++depth_;
    if (grain == Grain::kMembers && value.is_object()) CollectMembers(type, value.as_object(), below);
    if (grain == Grain::kItems && value.is_array()) CollectItems(type, value, below);
    --depth_;
    return grain == Grain::kWhole;
  }

 private:
  void CollectMembers(const ApplyType& type, const json::Object& object, FieldSet& below) {
    const std::size_t first = entries_.size();
    MemberTypes types(type);
    for (const auto& member : object) entries_.emplace_back(member, types.Find(member.first));
    std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end());
    below.Reserve(object.size());
    const bool lasting = type.type != nullptr && type.type->schema == nullptr;
    for (std::size_t i = first; i < first + object.size(); ++i) {
      const Entry entry = entries_[i];  // deeper levels move the array
      const Value& value = entry.member->second;
      auto& node =
          below.BeginAppend(entry.field != nullptr && lasting ? PathElement::StaticField(entry.field->name)
                                                              : PathElement::Field(entry.member->first));
      node.member = Collect(entry.type, value, node.below) || entry.field == nullptr || value.is_null() ||
                    (value.is_object() && value.empty());
      below.EndAppend();
    }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end());
  }

  void CollectItems(const ApplyType& type, const Value& list, FieldSet& below) {
    std::vector<Item> items = SortedItems(type, &list);
    below.Reserve(items.size());
    for (std::size_t i = 0; i < items.size();) {
      const std::size_t end = RunEnd(items, i);
      auto& node = below.BeginAppend(std::move(items[i].element));
      node.member = true;
      // Of items that cannot be told apart only their existence is known.
      if (end - i == 1) Collect(ItemType(type), *items[i].value, node.below);
      i = end;
    }
  }

  std::vector<Entry> entries_;  // of the levels being collected, each after the one above it
  int depth_ = 0;
};

// ---- Compare

// What differs at and below one place.
struct Delta {
  enum Change { kAdded, kModified, kRemoved, kChanges };
  FieldSet below[kChanges];
  bool here[kChanges] = {};

  void Add(const PathElement& element, Delta&& child) {
    for (int change = 0; change < kChanges; ++change) {
      below[change].Append(element, child.here[change], std::move(child.below[change]));
    }
  }
  bool empty() const {
    for (int change = 0; change < kChanges; ++change) {
      if (here[change] || !below[change].empty()) return false;
    }
    return true;
  }
  void Finish() {
    for (FieldSet& set : below) set.Finish();
  }
};

// Where a comparison is: parts of an object's metadata, and its type, belong to nobody.
enum class Scope { kInside, kObject, kMetadata };

bool IsUnowned(Scope scope, std::string_view name) {
  static constexpr std::string_view kOfObject[] = {"apiVersion", "kind"};
  static constexpr std::string_view kOfMetadata[] = {"name",       "namespace",     "creationTimestamp",
                                                     "selfLink",   "uid",           "clusterName",
                                                     "generation", "managedFields", "resourceVersion"};
  const auto among = [name](auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (scope == Scope::kObject && among(kOfObject)) || (scope == Scope::kMetadata && among(kOfMetadata));
}

Scope ScopeBelow(Scope scope, std::string_view name) {
  return scope == Scope::kObject && name == "metadata" ? Scope::kMetadata : Scope::kInside;
}

// Finds the members of one object in the order of another: mostly a step each.
class MemberLookup {
 public:
  explicit MemberLookup(const Value* value)
      : object_(value != nullptr && value->is_object() ? &value->as_object() : nullptr) {}

  const Value* Find(std::string_view name) {
    if (object_ == nullptr) return nullptr;
    const auto begin = object_->begin();
    if (next_ >= object_->size() || (begin + static_cast<std::ptrdiff_t>(next_))->first != name) {
      if (object_->size() > kManyMembers) return Count(object_->Find(name));
      const auto found = std::find_if(begin, object_->end(), [&](const auto& m) { return m.first == name; });
      if (found == object_->end()) return nullptr;
      next_ = static_cast<std::size_t>(found - begin);
    }
    return Count(&(begin + static_cast<std::ptrdiff_t>(next_++))->second);
  }

  const json::Object* object() const { return object_; }
  bool FoundAll() const { return object_ == nullptr || found_ == object_->size(); }

 private:
  static constexpr std::size_t kManyMembers = 32;  // from here on the object's own index is faster

  const Value* Count(const Value* value) {
    if (value != nullptr) ++found_;
    return value;
  }

  const json::Object* object_;
  std::size_t next_ = 0;
  std::size_t found_ = 0;
};

class Comparer {
 public:
  void CompareAt(const ApplyType& type, const Value* before, const Value* after, Scope scope, Delta& delta);

 private:
  void CompareMembers(const ApplyType& type, const Value* before, const Value* after, Scope scope,
                      Delta& delta);
  void CompareMember(const MemberType& member, std::string_view name, const Value* before, const Value* after,
                     Scope scope, Delta& delta);
  void CompareItems(const ApplyType& type, const Value* before, const Value* after, Delta& delta);
  void CompareRun(const ApplyType& item, const PathElement& element, std::span<const Item> before,
                  std::span<const Item> after, Delta& delta);
  void CompareItem(const ApplyType& item, const PathElement& element, const Value* before, const Value* after,
                   Delta& delta);

  // Most of an object is not changed by a write. Looked for on the upper levels only: on each, all that is
  // below is looked at again.
  bool IsUnchanged(const Value* before, const Value* after) const {
    constexpr int kUpperLevels = 6;
    return depth_ < kUpperLevels && before != nullptr && after != nullptr && *before == *after;
  }

  int depth_ = 0;
};

void Comparer::CompareMember(const MemberType& member, std::string_view name, const Value* before,
                             const Value* after, Scope scope, Delta& delta) {
  if (IsUnchanged(before, after)) return;
  Delta child;
  CompareAt(member.type, before, after, ScopeBelow(scope, name), child);
  if (ScopeBelow(scope, name) == Scope::kMetadata) std::fill_n(child.here, Delta::kChanges, false);
  if (!child.empty()) delta.Add(PathElement::Field(name), std::move(child));
}

void Comparer::CompareMembers(const ApplyType& type, const Value* before, const Value* after, Scope scope,
                              Delta& delta) {
  const auto absent = [&](const MemberType& member) {
    return member.field != nullptr ? ValueWhenAbsent(*type.type, *member.field) : nullptr;
  };
  MemberLookup old_members(before);
  MemberLookup new_members(after);
  MemberTypes types(type);
  if (new_members.object() != nullptr) {
    for (const auto& [name, value] : *new_members.object()) {
      const Value* old_value = old_members.Find(name);
      if (IsUnowned(scope, name)) continue;
      const MemberType member = types.Find(name);
      if (old_value == nullptr && before != nullptr) old_value = absent(member);
      CompareMember(member, name, old_value, &value, scope, delta);
    }
  }
  if (old_members.FoundAll()) return delta.Finish();
  for (const auto& [name, value] : *old_members.object()) {
    if (new_members.Find(name) != nullptr || IsUnowned(scope, name)) continue;
    const MemberType member = types.Find(name);
    CompareMember(member, name, &value, after != nullptr ? absent(member) : nullptr, scope, delta);
  }
  delta.Finish();
}

void Comparer::CompareItem(const ApplyType& item, const PathElement& element, const Value* before,
                           const Value* after, Delta& delta) {
  Delta child;
  CompareAt(item, before, after, Scope::kInside, child);
  if (!child.empty()) delta.Add(element, std::move(child));
}

// Items that share one element cannot be told apart: then they are compared as one piece.
void Comparer::CompareRun(const ApplyType& item, const PathElement& element, std::span<const Item> before,
                          std::span<const Item> after, Delta& delta) {
  if (before.size() <= 1 && after.size() <= 1) {
    return CompareItem(item, element, before.empty() ? nullptr : before[0].value,
                       after.empty() ? nullptr : after[0].value, delta);
  }
  Delta run;
  if (before.size() >= 2 && after.size() >= 2) {
    const auto same = [](const Item& a, const Item& b) { return SameValue(*a.value, *b.value); };
    run.here[Delta::kModified] = !std::equal(before.begin(), before.end(), after.begin(), after.end(), same);
  } else if (before.size() >= 2) {
    if (!after.empty()) CompareAt(item, nullptr, after[0].value, Scope::kInside, run);
    run.here[Delta::kRemoved] = true;
  } else {
    if (!before.empty()) CompareAt(item, before[0].value, nullptr, Scope::kInside, run);
    run.here[Delta::kAdded] = true;
  }
  delta.Add(element, std::move(run));
}

void Comparer::CompareItems(const ApplyType& type, const Value* before, const Value* after, Delta& delta) {
  if (before != nullptr && after != nullptr && *before == *after) return;
  const std::vector<Item> old_items = SortedItems(type, before);
  const std::vector<Item> new_items = SortedItems(type, after);
  const ApplyType item = ItemType(type);
  for (std::size_t i = 0, j = 0; i < old_items.size() || j < new_items.size();) {
    const auto order = i == old_items.size()   ? std::strong_ordering::greater
                       : j == new_items.size() ? std::strong_ordering::less
                                               : old_items[i].element <=> new_items[j].element;
    const std::size_t old_end = order <= 0 ? RunEnd(old_items, i) : i;
    const std::size_t new_end = order >= 0 ? RunEnd(new_items, j) : j;
    const PathElement& element = order <= 0 ? old_items[i].element : new_items[j].element;
    CompareRun(item, element, std::span(old_items).subspan(i, old_end - i),
               std::span(new_items).subspan(j, new_end - j), delta);
    i = old_end;
    j = new_end;
  }
  delta.Finish();
}

void Comparer::CompareAt(const ApplyType& type, const Value* before, const Value* after, Scope scope,
                         Delta& delta) {
  delta.here[Delta::kAdded] |= before == nullptr;
  delta.here[Delta::kRemoved] |= after == nullptr;
  const Grain grain = GrainOf(type, after != nullptr ? *after : *before);
  const bool mixed = before != nullptr && after != nullptr && GrainOf(type, *before) != grain;
  const bool empty = (before == nullptr || before->empty()) && (after == nullptr || after->empty());
  if (mixed || empty || grain == Grain::kWhole || depth_ >= FieldSet::kMaxDepth) {
    if (before != nullptr && after != nullptr) delta.here[Delta::kModified] |= !SameValue(*before, *after);
    if (!mixed) return;
  }
  ++depth_;
  if (grain == Grain::kItems) {
    CompareItems(type, before, after, delta);
  } else {
    CompareMembers(type, before, after, scope, delta);
  }
  --depth_;
}

FieldSet NamedFields(const ApplyType& type, const FieldSet& set) {
  FieldSet out;
  out.Reserve(set.nodes().size());
  MemberTypes types(type);
  for (const auto& node : set.nodes()) {
    MemberType member;
    if (node.element.kind() == PathElement::Kind::kField) {
      member = types.Find(node.element.text());
    } else if (type.type != nullptr && type.type->kind == TypeKind::kList) {
      member.type = ItemType(type);
    }
    out.Append(node.element, node.member || member.field != nullptr, NamedFields(member.type, node.below));
  }
  return out;
}

const Value& OrEmptyObject(const Value& value) {
  static const Value empty{json::Object()};
  return value.is_null() ? empty : value;
}

Comparison CompareFrom(const TypeInfo& type, const Value& before, const Value& after, Scope scope) {
  Delta delta;
  Comparer().CompareAt(ApplyType::Of(type), &OrEmptyObject(before), &OrEmptyObject(after), scope, delta);
  return {std::move(delta.below[Delta::kAdded]), std::move(delta.below[Delta::kModified]),
          std::move(delta.below[Delta::kRemoved])};
}

}  // namespace

FieldSet FieldsOf(const TypeInfo& type, const Value& value) {
  FieldSet fields;
  Collector().Collect(ApplyType::Of(type), value, fields);
  return fields;
}

Comparison Compare(const TypeInfo& type, const Value& before, const Value& after) {
  return CompareFrom(type, before, after, Scope::kInside);
}

Comparison CompareObjects(const TypeInfo& type, const Value& before, const Value& after) {
  return CompareFrom(type, before, after, Scope::kObject);
}

const FieldSet& UnownedFields() {
  static const FieldSet fields{{"apiVersion"},
                               {"kind"},
                               {"metadata"},
                               {"metadata", "name"},
                               {"metadata", "namespace"},
                               {"metadata", "creationTimestamp"},
                               {"metadata", "selfLink"},
                               {"metadata", "uid"},
                               {"metadata", "clusterName"},
                               {"metadata", "generation"},
                               {"metadata", "managedFields"},
                               {"metadata", "resourceVersion"}};
  return fields;
}

FieldSet WithNamedFields(const TypeInfo& type, const FieldSet& set) {
  return NamedFields(ApplyType::Of(type), set);
}

}  // namespace flyball::api
