#include "api/merge/strategic_order.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/merge/strategic_failure.h"
#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Array;
using json::Value;

constexpr std::size_t kNone = ValueIndex::kNone;

bool Deletes(const Value& item) {
  const Value* directive = item.Find("$patch");
  return directive != nullptr && *directive == Value("delete");
}

// What an item is told by: the value of its key, or itself. An error if it has none.
Result<const Value*> Identity(const Value& item, std::string_view key) {
  if (key.empty()) return &item;
  if (!item.is_object()) {
    return StrategicFailure("expected a map[string]interface {}, but received a " + GoPrint(item));
  }
  const Value* value = item.Find(key);
  if (value == nullptr) return NoMergeKey(item, key);
  return value;
}

struct Placed {
  Value* item;
  std::size_t in_patch, in_before;  // kNone: not there
};

}  // namespace

bool ValueIndex::Add(const Value& value, std::size_t place) {
  const std::string text = json::EqualityText(value);
  if (places_.contains(text)) return false;
  places_.Append(text, static_cast<std::int64_t>(place));
  return true;
}

std::size_t ValueIndex::Find(const Value& value) const {
  const Value* place = places_.Find(json::EqualityText(value));
  return place == nullptr ? kNone : static_cast<std::size_t>(place->as_int());
}

Result<Value::Kind> ItemKind(const Array& original, const Array& patch) {
  const Value::Kind kind = (original.empty() ? patch : original).front().kind();
  if (kind == Value::Kind::kArray) {
    ErrorDetails details;
    details.present = true;
    return Unexpected(Error(Reason::kInvalid, CodeOf(Reason::kInvalid),
                            "the server rejected our request due to an error in our request", details));
  }
  for (const Array* list : {&original, &patch}) {
    for (const Value& item : *list) {
      if (item.kind() == kind) continue;
      return StrategicFailure("list element types are not identical: [" + GoPrint(original) + " " +
                              GoPrint(patch) + "]");
    }
  }
  return kind;
}

Status CheckElementOrder(const Array& patch, const Array& order, std::string_view key) {
  if (patch.empty() || order.empty()) return {};
  std::size_t at = 0;
  for (const Value& item : patch) {
    if (!key.empty() && (Deletes(item) || item.Find("$patch") != nullptr)) continue;
    FLYBALL_ASSIGN(const Value* wanted, Identity(item, key));
    bool found = false;
    while (!found && at < order.size()) {
      FLYBALL_ASSIGN(const Value* next, Identity(order[at++], key));
      found = *next == *wanted;
    }
    if (!found) {
      return StrategicFailure("The order in patch list:\n" + GoPrint(patch) +
                              "\n doesn't match $setElementOrder list:\n" + GoPrint(order) + "\n");
    }
  }
  return {};
}

Result<Array> ItemKeys(const Array& items, std::string_view key) {
  Array out;
  out.reserve(items.size());
  for (const Value& item : items) {
    FLYBALL_ASSIGN(const Value* identity, Identity(item, key));
    out.push_back(*identity);
  }
  return out;
}

Result<Array> OrderItems(Array items, const Array& patch, const Array& keys_before, std::string_view key) {
  FLYBALL_ASSIGN(const Array patch_keys, ItemKeys(patch, key));
  const ValueIndex patch_places(patch_keys), before_places(keys_before);
  std::vector<Placed> named, others;
  for (Value& item : items) {
    FLYBALL_ASSIGN(const Value* identity, Identity(item, key));
    const Placed placed{&item, patch_places.Find(*identity), before_places.Find(*identity)};
    (placed.in_patch != kNone ? named : others).push_back(placed);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const Placed& a, const Placed& b) { return a.in_patch < b.in_patch; });
  std::stable_sort(others.begin(), others.end(),
                   [](const Placed& a, const Placed& b) { return a.in_before < b.in_before; });
  Array out;
  out.reserve(items.size());
  auto other = others.begin();
  for (const Placed& next : named) {
    while (other != others.end() && next.in_before != kNone && other->in_before < next.in_before) {
      out.push_back(std::move(*(other++)->item));
    }
    out.push_back(std::move(*next.item));
  }
  for (; other != others.end(); ++other) out.push_back(std::move(*other->item));
  return out;
}

}  // namespace flyball::api
