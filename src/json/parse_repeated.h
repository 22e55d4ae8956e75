// Parses JSON text in which members of an object occur more than once, and keeps each of them.
#pragma once

#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// Like Parse, but a member that repeats an earlier one is kept beside it, where it stands in the text. Its
// key is marked: the mark is no valid UTF-8, so no key of the text can look like it.
Result<Value> ParseRepeated(std::string_view text);

// For keys of such a tree: whether the member repeats an earlier one, and the key as it was in the text.
bool IsRepeated(std::string_view key);
std::string_view UnmarkedKey(std::string_view key);

}  // namespace flyball::json
