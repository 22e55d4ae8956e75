// IndexSet: completion indexes, in the text form of a Job's status: "0,2-5,7".
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace flyball::controllers {

using IndexSet = std::set<int>;

// Parts that are no number, and indexes of `limit` and beyond, are skipped.
IndexSet ParseIndexes(std::string_view text, int limit);
// Three or more in a row are written as a range.
std::string FormatIndexes(const IndexSet& indexes);

}  // namespace flyball::controllers
