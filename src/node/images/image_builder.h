// Builds images from files alone: no container runs. From a folder with a Dockerfile (see dockerfile.h), or
// from a folder that is the root of the image's file system.
#pragma once

#include <string>

#include "base/values/result.h"
#include "node/images/image_store.h"

namespace flyball::node {

// Adds the image under `name` and returns its id. What COPY takes stays within the folder, whatever links
// there are in it; files belong to root in the image, times are zero: equal input gives an equal image.
// FROM is `scratch` or an image of the store. BadRequest if the folder or the Dockerfile is not good.
Result<std::string> BuildImage(ImageStore& store, const std::string& folder, const std::string& name);

}  // namespace flyball::node
