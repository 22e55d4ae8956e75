#include "cel/functions/function.h"

namespace flyball::cel {

bool HasTrait(const Value& value, Trait trait) {
  using K = ValueKind;
  const K kind = value.kind();
  const bool number = kind == K::kInt || kind == K::kUint || kind == K::kDouble;
  const bool time = kind == K::kDuration || kind == K::kTimestamp;
  const bool text = kind == K::kString || kind == K::kBytes;
  switch (trait) {
    case Trait::kNone:
      return true;
    case Trait::kAdder:
      return number || time || text || kind == K::kList;
    case Trait::kComparer:
      return number || time || text || kind == K::kBool;
    case Trait::kDivider:
    case Trait::kMultiplier:
      return number;
    case Trait::kModder:
      return kind == K::kInt || kind == K::kUint;
    case Trait::kNegator:
      return kind == K::kInt || kind == K::kDouble || kind == K::kBool || kind == K::kDuration;
    case Trait::kSizer:
      return text || kind == K::kList || kind == K::kMap;
    case Trait::kSubtractor:
      return number || time;
    case Trait::kMatcher:
      return kind == K::kString;
    case Trait::kLister:
      return kind == K::kList;
  }
  return false;
}

bool FitsAtRunTime(Arena& arena, const Type& type, const Value& value) {
  if (type.IsDyn() || type.kind == TypeKind::kTypeParam) return true;
  if (type.name != TypeNameOf(value)) return false;
  if (type.kind == TypeKind::kList) {
    if (ListSize(value) == 0) return true;
    const Type& element = *type.params[0];
    if (element.IsDyn() || element.kind == TypeKind::kTypeParam) return true;
    return FitsAtRunTime(arena, element, ListElement(arena, value, 0));
  }
  if (type.kind == TypeKind::kMap) {
    bool fits = true;
    ForEachEntry(arena, value, true, [&](const Value& key, const Value& entry) {
      fits = FitsAtRunTime(arena, *type.params[0], key) && FitsAtRunTime(arena, *type.params[1], entry);
      return false;
    });
    return fits;
  }
  return true;
}

Value NoOverloadFor(Arena& arena, std::string_view function, const Value* args, std::size_t count) {
  std::string text = "no such overload: " + std::string(function) + "(";
  for (std::size_t i = 0; i < count; ++i) {
    if (args[i].IsError()) return args[i];
    if (i) text += ", ";
    text += TypeNameOf(args[i]);
  }
  return Value::Error(arena, text + ")");
}

}  // namespace flyball::cel
