// The spec of a PersistentVolumeClaim, in a claim and in the templates of pods and stateful sets.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Of a claim or a volume; that there are some is the caller's to check.
void ValidateAccessModes(const json::Value& modes, const FieldPath& path, FieldErrors& errors);
void ValidateClaimSpec(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// metadata and spec of an ephemeral volume's claim.
void ValidateClaimTemplate(const json::Value& claim, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
