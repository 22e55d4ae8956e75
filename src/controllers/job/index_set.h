// IndexSet: completion indexes, in the text form used in a Job's status: "0,2-5,7".
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace flyball::controllers {

using IndexSet = std::set<int>;

// Skips parts that are not numbers, and indexes at or above `limit`.
IndexSet ParseIndexes(std::string_view text, int limit);
// Three or more in a row are written as a range.
std::string FormatIndexes(const IndexSet& indexes);

}  // namespace flyball::controllers
