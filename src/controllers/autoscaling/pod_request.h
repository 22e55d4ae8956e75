// What a pod requests of a resource, as autoscalers count it.
#pragma once

#include <cstdint>
#include <string>

#include "api/types/core.h"
#include "base/values/result.h"

namespace flyball::controllers {

// In thousandths: of the container of that name, or else of the pod if it says so itself, or else of all its
// containers and sidecars. An error with upstream's text if one of them requests none.
Result<std::int64_t> RequestOf(const Pod& pod, const std::string& resource, const std::string& container);

}  // namespace flyball::controllers
