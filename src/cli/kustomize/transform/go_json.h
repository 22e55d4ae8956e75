// JSON as Go's encoder writes it: sorted keys, and <, > and & escaped.
#pragma once

#include <string>

#include "json/value.h"

namespace flyball::cli::kustomize {

std::string GoJson(json::Value value);
// In several lines, two spaces per level.
std::string GoJsonIndented(json::Value value);

}  // namespace flyball::cli::kustomize
