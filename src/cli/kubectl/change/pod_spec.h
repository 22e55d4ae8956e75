// Where the kinds that have pods keep the pod's spec.
#pragma once

#include "json/value.h"

namespace flyball::cli {

// Of a Pod, a workload with a template, or a CronJob. Null if the kind has none.
json::Value* PodSpecIn(json::Value& object);
const json::Value* PodSpecIn(const json::Value& object);

// Whether the container's name is `pattern`; "*" is any name.
bool NameMatches(std::string_view pattern, std::string_view name);

}  // namespace flyball::cli
