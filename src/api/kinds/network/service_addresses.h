// The addresses of a Service: clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy, which must agree.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

bool IsHeadless(const json::Value& spec);
void ValidateClusterIps(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
void ValidateClusterIpsUpdate(const json::Value& spec, const json::Value& old, FieldErrors& errors);

}  // namespace flyball::api
