// Objects that the server makes itself, without a request: bootstrap objects, allocated addresses.
#pragma once

#include <string>

#include "base/values/result.h"
#include "json/value.h"
#include "server/registry/server_state.h"

namespace flyball::server {

struct OwnObject {
  ResourcePtr resource;
  std::string key;  // in the store
  json::Value object;
};

// `value` has apiVersion, kind and metadata.name (and namespace). Defaults are set and metadata filled in as
// a create would; admission and validation are skipped, and the status is kept. InternalError if the kind is
// unknown.
Result<OwnObject> MakeOwnObject(ServerState& state, RequestScope& scope, json::Value value);

}  // namespace flyball::server
