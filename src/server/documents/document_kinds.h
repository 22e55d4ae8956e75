// Private to the Documents files: the catalog as the api module's document makers want it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "server/catalog/catalog.h"
#include "server/request/answer.h"

namespace flyball::server {

// Keeps the snapshot alive while its kinds are used.
struct Kinds {
  std::shared_ptr<const Catalog::Snapshot> snapshot;
  std::vector<const api::KindInfo*> list;
};

inline Kinds KindsOf(const Catalog& catalog) {
  Kinds kinds{catalog.snapshot(), {}};
  for (const auto& resource : kinds.snapshot->ordered)
    if (!resource->disabled && resource->listed) kinds.list.push_back(resource->kind.get());
  return kinds;
}

inline Answer NotFoundPage() {
  return TextAnswer(404, "404 page not found\n");
}

inline std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

}  // namespace flyball::server
