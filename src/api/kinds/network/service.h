// Services: which fields go with which type, and what happens to them when the type changes.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::api {

bool NeedsClusterIp(const json::Value& spec);
bool NeedsNodePorts(const json::Value& spec);
bool IsExternallyAccessible(const json::Value& spec);
bool NeedsHealthCheck(const json::Value& spec);

void SetServiceDefaults(json::Value& object);
void PrepareServiceForCreate(json::Value& object);
void PrepareServiceForUpdate(json::Value& object, const json::Value& old);

// What a client is warned of in a Service that is nevertheless taken.
void WarnOfService(const json::Value& object, std::vector<std::string>& out);

}  // namespace flyball::api
