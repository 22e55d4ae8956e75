// Times the server fills in where a client gives none: when a device was tainted.
#pragma once

#include <string_view>

#include "base/run/clock.h"
#include "json/value.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// `old` is null for a new object. Before validation.
void FillInTimes(const ServedResource& resource, std::string_view subresource, TimePoint now,
                 json::Value& object, const json::Value* old);

}  // namespace flyball::server
