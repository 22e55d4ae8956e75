// Text as Go's fmt writes it: Kubernetes' messages are made with it, so ours quote and show values the same
// way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::api {

// fmt's %q: in double quotes, with Go's escapes; printable Unicode stays as it is.
std::string GoQuote(std::string_view s);

// A bad value as upstream's field errors show it: strings quoted, numbers and booleans plain, everything else
// as Go's JSON encoder writes it (with <, > and & escaped).
std::string GoValueText(const json::Value& value);

// fmt's %v of what JSON decodes to: map[a:1 b:[x y]], <nil>; strings as they are.
std::string GoPrint(const json::Value& value);

// fmt's %#v of the same: map[string]interface {}{"a":1, "b":[]interface {}{"x"}}.
std::string GoSyntax(const json::Value& value);

// fmt's %T of the same: "int64", "[]interface {}", "<nil>".
std::string_view GoTypeOf(const json::Value& value);

// The list as fmt's %v shows a slice of strings: [a b c].
std::string GoList(const std::vector<std::string>& items);

}  // namespace flyball::api
