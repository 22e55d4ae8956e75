// FieldPath: the way to fields that a replacement reads or writes: "spec.containers.[name=web].env.*.value"
// (upstream: PathGetter and PathMatcher of kyaml).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

// Dots separate the parts, except within brackets and after a backslash.
std::vector<std::string> SplitFieldPath(std::string_view path);

// Follows the parts to one value: names of members, numbers of items, "-" for the last item, [key=value] for
// the item that has it. Returns null if there is none. Fails if a part meets something it cannot enter.
Result<json::Value*> LookUp(json::Value& root, const std::vector<std::string>& parts);

// Follows the parts to all values they lead to: here [key=value] takes a regular expression, and * stands for
// every item. Missing members and items are created if `create` is given; what is at the end is then a copy
// of it. The pointers are valid until something is added to the tree.
Result<std::vector<json::Value*>> MatchAll(json::Value& root, const std::vector<std::string>& parts,
                                           const std::optional<json::Value>& create);

// The value of unquoted text: a number, a boolean, or the text.
json::Value PlainScalar(const std::string& text);

}  // namespace flyball::cli::kustomize
