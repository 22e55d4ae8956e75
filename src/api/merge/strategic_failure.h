// The errors of strategic merge patches, in upstream's words.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/values/go_text.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// An error upstream does not give a reason to.
inline Unexpected StrategicFailure(std::string message) {
  return Unexpected(Error(Reason::kUnknown, std::move(message)));
}

// An item of a list merged by `key` that has none.
inline Unexpected NoMergeKey(const json::Value& item, std::string_view key) {
  return StrategicFailure("map: " + GoPrint(item) +
                          " does not contain declared merge key: " + std::string(key));
}

}  // namespace flyball::api
