// Decoding of objects in which members occur more than once. Functions only; thread-safe.
#pragma once

#include "api/schema/decode.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// Like Decode, for an object from json::ParseRepeated. Each repeated member is reported where it stands among
// the unknown ones, and adds to what was said before as Go's decoder has it: members of objects and maps
// join, elements of lists are decoded over the earlier ones, other values replace them. Nothing is reported
// inside unknown fields and types that decode themselves.
Status DecodeRepeated(const TypeInfo& type, json::Value& object, DecodeContext& context);

}  // namespace flyball::api
