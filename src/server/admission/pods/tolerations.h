// Lists of tolerations as admission plugins merge and compare them (upstream: pkg/util/tolerations).
#pragma once

#include "json/value.h"

namespace flyball::server {

// Whether every taint that `narrow` tolerates, `wide` tolerates as long.
bool ToleratesAsMuch(const json::Value& wide, const json::Value& narrow);
// Both lists, without those that another one makes superfluous. What is no list counts as empty.
json::Value MergeTolerations(const json::Value& first, const json::Value& second);
// Every toleration is within one of `allowed`. An empty list of either allows everything.
bool ToleratesOnly(const json::Value& tolerations, const json::Value& allowed);

}  // namespace flyball::server
