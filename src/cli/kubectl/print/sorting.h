// Sorts objects by a field, for `--sort-by`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

// Sorts `items` by what the path finds in `object_of` each: numbers, quantities and texts (in which digits
// count as numbers) each in their own order; items without the field come first. kubectl's error if none has
// it.
Status SortByField(const std::string& path, std::vector<json::Value>& items,
                   const std::function<const json::Value&(const json::Value&)>& object_of);

// "a2" comes before "a10".
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace flyball::cli
