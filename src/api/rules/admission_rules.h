// What webhook configurations and admission policies share: rules, clients, match conditions.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Operations, groups, versions, resources and scope.
void ValidateAdmissionRule(const json::Value& rule, const FieldPath& path, FieldErrors& errors);
// A url or a service.
void ValidateWebhookClient(const json::Value& client, const FieldPath& path, FieldErrors& errors);
// Named expressions; what they say is compiled by the server.
void ValidateMatchConditions(const json::Value& conditions, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
