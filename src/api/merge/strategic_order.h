// The order of lists merged by a strategic merge patch (upstream: strategicpatch's normalizeElementOrder).
// Lists of objects are told by `key`; an empty key means a list of scalars.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// Finds places in a list by value, in constant time. Thread-compatible.
class ValueIndex {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  ValueIndex() = default;
  explicit ValueIndex(const json::Array& values) {
    for (std::size_t i = 0; i < values.size(); ++i) Add(values[i], i);
  }
  // The first place counts: false if the value has one already.
  bool Add(const json::Value& value, std::size_t place);
  // kNone if there is none.
  std::size_t Find(const json::Value& value) const;

 private:
  json::Object places_;  // by EqualityText: its hash is seeded, so values cannot be chosen to collide
};

// What the items of both lists are; an error if they differ among themselves, or are lists. Requires an item.
Result<json::Value::Kind> ItemKind(const json::Array& original, const json::Array& patch);

// Checks that the patch's items, those it deletes aside, are in the order list, in that order.
Status CheckElementOrder(const json::Array& patch, const json::Array& order, std::string_view key);

// What each item is told by: the value of its key, or the scalar itself. An error if one has no key.
Result<json::Array> ItemKeys(const json::Array& items, std::string_view key);

// Puts the items in order: those named by the patch in the patch's order, the others in the order their keys
// had in the list before, the two woven together by their places in it.
Result<json::Array> OrderItems(json::Array items, const json::Array& patch, const json::Array& keys_before,
                               std::string_view key);

}  // namespace flyball::api
