// The version built-in kinds are stored in, as discovery shows it.
#pragma once

#include <string_view>

#include "api/schema/schema.h"

namespace flyball::api {

// A short hash that changes when the stored version does (upstream: APIResource.storageVersionHash). Empty
// for what is not stored and for custom kinds.
std::string_view StorageVersionHash(const KindInfo& kind);

}  // namespace flyball::api
