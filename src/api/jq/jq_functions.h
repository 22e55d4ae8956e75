// The functions of jq that work on values, and its operators. Functions only; thread-safe. Those that run
// their argument (select, map, any, ...) are part of jq_query.cc.
//
// There are: add, ascii_downcase, ascii_upcase, ceil, contains, endswith, first, flatten, floor,
// from_entries, fromjson, has, in, index, inside, join, keys, keys_unsorted, last, length, ltrimstr, max,
// min, not, reverse, round, rtrimstr, sort, split, startswith, test, to_entries, tojson, tonumber, tostring,
// trim, type and unique.
#pragma once

#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// "object", "array", "null", ...
std::string_view JqTypeOf(const json::Value& value);
bool JqIsTrue(const json::Value& value);
// Less than, equal to or greater than 0: null < false < true < numbers < strings < arrays < objects.
int JqCompare(const json::Value& a, const json::Value& b);

bool HasJqFunction(std::string_view name, std::size_t arguments);
// Requires HasJqFunction(name, args.size()). BadRequest in jq's words.
Result<json::Value> CallJqFunction(std::string_view name, const json::Value& input,
                                   const std::vector<json::Value>& args);
// Requires one of == != < <= > >= + - * / %.
Result<json::Value> JqOperate(std::string_view op, const json::Value& a, const json::Value& b);

}  // namespace flyball::api
