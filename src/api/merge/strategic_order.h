// The order of lists merged by a strategic merge patch (upstream: strategicpatch's normalizeElementOrder).
// Lists of objects are told by `key`; an empty key means a list of scalars.
#pragma once

#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

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
