// Whether labels satisfy a selector, on the typed structs.
#pragma once

#include <map>
#include <string>

#include "api/types/meta.h"

namespace flyball::controllers {

using Labels = std::map<std::string, std::string>;

// Every member of `wanted` is in `labels`. The empty map matches everything.
bool HasLabels(const Labels& labels, const Labels& wanted);
// The empty selector matches everything; an unknown operator nothing.
bool Matches(const LabelSelector& selector, const Labels& labels);
bool SelectsEverything(const LabelSelector& selector);

}  // namespace flyball::controllers
