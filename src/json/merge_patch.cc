#include <algorithm>

#include "json/patch.h"

namespace flyball::json {
namespace {

// The walks below keep lists of pending work instead of recursing, because input may be nested 10,000 levels
// deep.

void EraseNullMembers(Object& object) {
  object.EraseIf([](std::string_view, const Value& value) { return value.is_null(); });
}

// A copy without null members at any depth. Null elements of arrays stay.
Value WithoutNullMembers(const Value& value) {
  Value copy = value;
  std::vector<Value*> left{&copy};
  while (!left.empty()) {
    Value& next = *left.back();
    left.pop_back();
    if (next.is_array()) {
      for (Value& element : next.as_array()) left.push_back(&element);
    } else if (next.is_object()) {
      EraseNullMembers(next.as_object());
      for (auto& [key, member] : next.as_object()) left.push_back(&member);
    }
  }
  return copy;
}

struct Merge {
  Value* into;         // an object
  const Value* patch;  // an object
};

// Merges one level and adds deeper merges to `left`.
void MergeMembers(Object& into, const Object& patch, std::vector<Merge>& left) {
  const auto deletes = [](const Object::Member& change) { return change.second.is_null(); };
  if (std::any_of(patch.begin(), patch.end(), deletes))
    into.EraseIf([&](std::string_view key, const Value&) {
      const Value* change = patch.Find(key);
      return change && change->is_null();
    });
  for (const auto& [key, value] : patch) {
    if (!value.is_null()) into[key];  // all members are in place before any is pointed to
  }
  for (const auto& [key, value] : patch) {
    if (value.is_null()) continue;
    Value& member = *into.Find(key);
    if (!member.is_object())
      member = WithoutNullMembers(value);
    else if (value.is_object())
      left.push_back({&member, &value});
    else
      member = value;
  }
}

// One object being compared with another.
struct Difference {
  const Object* from;
  const Object* to;
  std::string key;  // of this object in its parent
  Object patch;
  std::size_t next = 0;  // member of `to`
};

// Records how the next member differs, or returns the pair of objects to descend into.
std::pair<const Value*, const Value*> CompareMember(Difference& difference) {
  const auto& [key, value] = difference.to->begin()[difference.next++];
  const Value* before = difference.from->Find(key);
  if (before && before->is_object() && value.is_object()) return {before, &value};
  if (!before || *before != value) difference.patch.Append(key, value);
  return {nullptr, nullptr};
}

void AddDeletions(Difference& difference) {
  for (const auto& [key, value] : *difference.from) {
    if (!difference.to->contains(key)) difference.patch.Append(key, nullptr);
  }
}

}  // namespace

Value ApplyMergePatch(Value document, const Value& patch) {
  if (!patch.is_object()) return patch;
  if (!document.is_object()) return WithoutNullMembers(patch);
  std::vector<Merge> left{{&document, &patch}};
  while (!left.empty()) {
    const Merge next = left.back();
    left.pop_back();
    MergeMembers(next.into->as_object(), next.patch->as_object(), left);
  }
  return document;
}

Value CreateMergePatch(const Value& from, const Value& to) {
  if (!from.is_object() || !to.is_object()) return to;
  std::vector<Difference> open;
  open.push_back({&from.as_object(), &to.as_object(), "", {}});
  for (;;) {
    Difference& top = open.back();
    if (top.next < top.to->size()) {
      const auto [before, after] = CompareMember(top);
      if (!before) continue;
      const std::string& key = top.to->begin()[top.next - 1].first;
      open.push_back({&before->as_object(), &after->as_object(), key, {}});
      continue;
    }
    AddDeletions(top);
    Difference done = std::move(top);
    open.pop_back();
    if (open.empty()) return Value(std::move(done.patch));
    if (!done.patch.empty()) open.back().patch.Append(done.key, std::move(done.patch));
  }
}

}  // namespace flyball::json
