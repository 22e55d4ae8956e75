// What may change in a pod once it exists.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

void ValidatePodUpdate(const json::Value& pod, const json::Value& old, FieldErrors& errors);
void ValidatePodStatusUpdate(const json::Value& pod, const json::Value& old, FieldErrors& errors);
// The ephemeralcontainers and resize subresources; each may change only its own part of the spec.
// The endpoints `ephemeralcontainers` and `resize`: everything but their part is put back as it was; then the
// change of the part is checked.
void PreparePodPart(std::string_view part, json::Value& pod, const json::Value& old);
void ValidatePodPart(std::string_view part, const json::Value& pod, const json::Value& old,
                     FieldErrors& errors);
void ValidateEphemeralContainersUpdate(const json::Value& pod, const json::Value& old, FieldErrors& errors);
void ValidatePodResize(const json::Value& pod, const json::Value& old, FieldErrors& errors);

// BestEffort, Burstable or Guaranteed.
std::string_view PodQosClass(const json::Value& spec);

}  // namespace flyball::api
