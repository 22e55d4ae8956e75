// Rules of roles as kubectl lists them: a line for each resource of a group.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::cli {

struct RuleRow {
  std::string resource;            // "deployments.apps"; empty for paths
  std::string urls, names, verbs;  // "[get list]"
};

// Rules about the same resource become one row. Sorted as kubectl sorts them: by verbs, groups, resources.
std::vector<RuleRow> RuleRows(const json::Array& rules);

}  // namespace flyball::cli
