#include "server/scale_paths.h"

namespace flyball::server {

ScalePaths ScalePathsOf(const ServedResource& resource) {
  (void)resource;
  return {};
}

}  // namespace flyball::server
