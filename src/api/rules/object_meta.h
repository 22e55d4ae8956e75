// What metadata must obey, on create and on update (upstream: apimachinery api/validation objectmeta, and the
// core group's additions).
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "api/rules/kind_hooks.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// The whole of an object's metadata: name by the kind's format, namespace by its scope, labels, annotations,
// owners, finalizers, managed fields. Expects generateName to have been used already.
void ValidateObjectMetaForCreate(const KindInfo& kind, const KindHooks& hooks, const json::Value& metadata,
                                 FieldErrors& errors);
// What may not change, and the form of what may. Upstream checks this twice, generically and in the kind's
// strategy, so every problem is two causes.
void ValidateObjectMetaForUpdate(const KindInfo& kind, const KindHooks& hooks, const json::Value& metadata,
                                 const json::Value& old, FieldErrors& errors);

// Parts of it, for those who have labels and the like elsewhere (pod templates).
void ValidateLabels(const json::Value& labels, const FieldPath& path, FieldErrors& errors);
void ValidateAnnotations(const json::Value& annotations, const FieldPath& path, FieldErrors& errors);

// A metav1.LabelSelector; null is fine.
void ValidateLabelSelector(const json::Value& selector, const FieldPath& path, FieldErrors& errors);
// True if every requirement of the selector is well-formed.
bool IsUsableSelector(const json::Value& selector);

// Invalid(path, value, "field is immutable") unless both are equal; absent and null are equal to zero values.
void ValidateUnchanged(const json::Value& value, const json::Value& old, const FieldPath& path,
                       FieldErrors& errors);

}  // namespace flyball::api
