// Node labels that have been replaced (upstream: api/node).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// What to say of the label; "" if it is not an old one.
std::string_view OldNodeLabelText(std::string_view label);

// Old labels in the matchExpressions of a node selector term: "path.matchExpressions[i].key: label is ...".
void WarnOfNodeSelectorTerm(const json::Value& term, const FieldPath& path, std::vector<std::string>& out);

}  // namespace flyball::api
