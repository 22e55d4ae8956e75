// The grammar of label selectors (upstream: labels.Parse), apart from what selectors do. Only selector.cc
// and its tests use this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/select/selector.h"
#include "base/values/result.h"

namespace flyball::api {

// In the order of the text. BadRequest with upstream's message.
Result<std::vector<LabelSelector::Requirement>> ParseRequirements(std::string_view text);

// Checks key and values as upstream's NewRequirement does; values become sorted and unique.
Result<LabelSelector::Requirement> MakeRequirement(std::string key, LabelSelector::Operator op,
                                                   std::vector<std::string> values);

}  // namespace flyball::api
