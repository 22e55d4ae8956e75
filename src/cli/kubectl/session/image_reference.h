// Names of images, as registries take them.
#pragma once

#include <string>

#include "base/values/result.h"

namespace flyball::cli {

// BadRequest, in kubectl's words, unless it is [HOST[:PORT]/]PATH[:TAG][@DIGEST] (upstream:
// distribution/reference).
Status CheckImageName(const std::string& image);

}  // namespace flyball::cli
