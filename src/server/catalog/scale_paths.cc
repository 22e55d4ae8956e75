#include "server/catalog/scale_paths.h"

#include "api/custom/custom_kind.h"

namespace flyball::server {

ScalePaths ScalePathsOf(const ServedResource& resource) {
  if (!resource.custom) return {};
  ScalePaths paths;
  if (const auto& scale = resource.custom->scale()) {
    const auto dotted = [](const std::string& path) { return path.empty() ? path : "." + path; };
    paths = {dotted(scale->spec_replicas), dotted(scale->status_replicas), dotted(scale->label_selector)};
  }
  return paths;
}

}  // namespace flyball::server
