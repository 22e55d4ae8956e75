// The names of resources (cpu, memory, pods, example.com/gpu, ...): which are standard where (upstream: core
// helper).
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

bool IsNativeResource(std::string_view name);
bool IsHugePageResource(std::string_view name);
bool IsExtendedResource(std::string_view name);
bool IsStandardQuotaResource(std::string_view name);
// Requests may be lower than limits.
bool IsOvercommitAllowed(std::string_view name);

void CheckResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckContainerResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckQuotaResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// Not negative; whole where only whole numbers make sense.
void CheckResourceQuantity(std::string_view name, const json::Value& quantity, const FieldPath& path,
                           FieldErrors& errors);

}  // namespace flyball::api
