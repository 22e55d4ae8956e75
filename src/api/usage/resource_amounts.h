// Amounts of resources by name, and what a pod asks for in all (upstream: component-helpers/resource). Pure
// functions of objects.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/values/quantity.h"
#include "json/value.h"

namespace flyball::api {

using ResourceAmounts = std::map<std::string, Quantity, std::less<>>;

// From a resource list: {"cpu": "100m"}. What is no quantity is left out.
ResourceAmounts ResourceAmountsOf(const json::Value& list);
json::Value ResourceListValue(const ResourceAmounts& amounts);
void AddAmounts(ResourceAmounts& to, const ResourceAmounts& amounts);
void RaiseAmounts(ResourceAmounts& to, const ResourceAmounts& at_least);

enum class PodOverhead : std::uint8_t { kIncluded, kLeftOut };

// What a pod's spec asks for: its containers together, or at some moment of its start more (init containers
// run one by one beside the sidecars that were started before). `list` is "requests" or "limits".
ResourceAmounts PodResources(const json::Value& spec, std::string_view list, PodOverhead overhead);

}  // namespace flyball::api
