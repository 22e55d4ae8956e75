// Parses and writes JSON text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

struct ParseOptions {
  std::size_t max_depth = 10000;  // Go's limit; deeper input is an error, never a crash
  std::size_t max_bytes = 128ull << 20;
  // Receives the paths of keys that occur twice in one object ("spec.replicas"); the last value wins.
  std::vector<std::string>* duplicates = nullptr;
};

// Parses exactly one value, surrounded by white space only. Integers that fit into a signed 64-bit integer
// are kInt, all other numbers kDouble. Returns BadRequest with Go's message where it is known ("unexpected
// end of JSON input", "invalid character 'x' looking for beginning of value").
Result<Value> Parse(std::string_view text, const ParseOptions& options = {});

// Compact, members in their order. Doubles are written as Go's encoding/json writes them (1e+21, 0.1, 100).
std::string Write(const Value& value);
void WriteTo(const Value& value, std::string& out);
// `indent` spaces per level; kubectl -o json uses 4.
std::string WritePretty(const Value& value, int indent = 4);
// The same for equal values, and only for them, whatever the order of their members: for finding a value
// among many. Not for people to read.
std::string EqualityText(const Value& value);
// Appends s as a JSON string with quotes.
void AppendQuoted(std::string_view s, std::string& out);

}  // namespace flyball::json
