// Volume sources that pods and persistent volumes share.
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

void ValidateIscsiVolume(const json::Value& source, const FieldPath& path, FieldErrors& errors);
// In a persistent volume: the secret must be named, and a wrong name is not explained.
void ValidateIscsiPersistentVolume(const json::Value& source, std::string_view volume_name,
                                   const FieldPath& path, FieldErrors& errors);
void ValidateFibreChannel(const json::Value& source, const FieldPath& path, FieldErrors& errors);
void ValidateFlexVolume(const json::Value& source, const FieldPath& path, FieldErrors& errors);
void ValidateCsiDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// The same in the words of upstream's declarative validation (format k8s-long-name-caseless).
void ValidateCaselessDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
