// Conversion between versions of built-in kinds: autoscaling/v1 is served from what is stored as
// autoscaling/v2, and events.k8s.io/v1 from core v1 Events.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// Null if the kind is stored in its own version.
std::shared_ptr<const VersionConversion> ConversionFor(const api::KindInfo& kind);
// The kind that objects of `kind` are stored as; itself for most.
const api::KindInfo& StoredKind(const api::KindInfo& kind);

}  // namespace flyball::server
