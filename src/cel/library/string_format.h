// '%s has %d'.format([...]) (upstream: cel-go ext/formatting.go, version 2 of the library). Functions only;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/values/value.h"

namespace flyball::cel {

// More digits than that after the point are refused.
inline constexpr int kMaxFormatPrecision = 100'000;

// One clause of a format text, from its percent sign on.
struct FormatClause {
  char verb = 0;
  std::optional<int> precision;
  std::size_t length = 0;  // with the percent sign
};

// False and a message if there is none at the start of `text`.
bool ParseFormatClause(std::string_view text, FormatClause* clause, std::string* problem);
// "only integers ... was given double": why a value of that type cannot be formatted by the verb.
std::string FormatTypeProblem(char verb, std::string_view type_name);

Value FormatText(Arena& arena, std::string_view format, const Value& args);

}  // namespace flyball::cel
