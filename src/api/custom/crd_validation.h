// What a CustomResourceDefinition must be, in upstream's words (apiextensions-apiserver validation). The
// generic rules of metadata are the server's. Functions only; thread-safe.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Upstream's defaults: singular and listKind from kind, conversion strategy None. Before validation.
void DefaultCustomResourceDefinition(json::Value& definition);

void ValidateCustomResourceDefinition(const json::Value& definition, FieldErrors& errors);
// Besides ValidateCustomResourceDefinition: what may not change once names are accepted.
void ValidateCustomResourceDefinitionUpdate(const json::Value& definition, const json::Value& old,
                                            FieldErrors& errors);

// Whether `schema` is structural and otherwise fit for a custom kind; `path` is where it stands.
void ValidateStructuralSchema(const json::Value& schema, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
