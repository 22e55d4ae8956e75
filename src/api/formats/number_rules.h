// What a schema demands of a number (upstream: kube-openapi validate.numberValidator). Functions only;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::api {

struct NumberProblem {
  std::string text;
  json::Value shown;
  bool at_field = true;  // false: upstream reports it without a path of its own
};

// True if the number has no fraction and JSON readers that know only doubles keep it (below 2^53).
bool IsJsonInteger(double number);

// Problems with `value`, a number, at the path `name` within the object.
std::vector<NumberProblem> NumberProblems(const json::Value& node, const json::Value& value,
                                          const std::string& name);

}  // namespace flyball::api
