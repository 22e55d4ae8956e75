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
// `&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}`:
// as messages of upstream show one.
std::string SelectorInMessage(const LabelSelector& selector);
bool SelectsEverything(const LabelSelector& selector);

}  // namespace flyball::controllers
