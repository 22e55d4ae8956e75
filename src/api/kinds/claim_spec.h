// The spec of a PersistentVolumeClaim, in a claim and in the templates of pods and stateful sets.
#pragma once

#include "api/field_error.h"
#include "json/value.h"

namespace flyball::api {

void ValidateClaimSpec(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// metadata and spec of an ephemeral volume's claim.
void ValidateClaimTemplate(const json::Value& claim, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
