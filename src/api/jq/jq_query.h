// JqQuery: a query in the language of jq, such as `.status.conditions.[] | select(.type == "Ready") |
// .status`.
//
// There are: paths (also `.a.[]`, slices, `?`, `..`), `|`, `,`, `//`, comparisons, arithmetic, and/or/not,
// literals, arrays and objects, variables (`as $x`), if, try, and the functions of jq_functions.h. There are
// not: assignments, def, reduce, foreach, string interpolation, formats (`@base64`), dates. Parse refuses
// these.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/jq/jq_syntax.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// A value; immutable, so thread-safe.
class JqQuery {
 public:
  // BadRequest says what is malformed or is not there, and at which byte.
  static Result<JqQuery> Parse(std::string_view text);
  // All results, in order. BadRequest in jq's words if it fails: `cannot iterate over: null`.
  Result<std::vector<json::Value>> Run(const json::Value& input) const;

 private:
  explicit JqQuery(std::shared_ptr<const JqNode> root) : root_(std::move(root)) {}
  std::shared_ptr<const JqNode> root_;
};

}  // namespace flyball::api
