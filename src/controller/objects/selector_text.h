// Formats selectors for messages.
#pragma once

#include <string>

#include "api/types/meta.h"

namespace flyball::controllers {

// `&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}`,
// as in upstream's messages.
std::string SelectorInMessage(const LabelSelector& selector);

}  // namespace flyball::controllers
