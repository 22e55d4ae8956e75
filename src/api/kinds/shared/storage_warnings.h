// What a client is warned of in claims, volumes and storage classes that are nevertheless taken (upstream:
// api/persistentvolumeclaim, api/persistentvolume and api/storage).
#pragma once

#include <string>
#include <vector>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

void WarnOfPersistentVolumeClaim(const json::Value& object, std::vector<std::string>& out);
// A claim's spec anywhere: in a pod's ephemeral volume too.
void WarnOfClaimSpec(const json::Value& spec, const FieldPath& path, std::vector<std::string>& out);
void WarnOfPersistentVolume(const json::Value& object, std::vector<std::string>& out);
void WarnOfStorageClass(const json::Value& object, std::vector<std::string>& out);

// "path: fractional byte value "1500m" is invalid, must be an integer" if the quantity is not whole.
void WarnOfFraction(const json::Value* quantity, const FieldPath& path, std::vector<std::string>& out);

}  // namespace flyball::api
