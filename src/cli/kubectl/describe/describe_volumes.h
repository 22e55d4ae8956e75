// Descriptions of a pod's volumes.
#pragma once

#include <string>

#include "json/value.h"

namespace flyball::cli {

// `space` is "" for a pod and two spaces within a template.
std::string VolumeLines(const json::Value& volumes, const std::string& space);

}  // namespace flyball::cli
