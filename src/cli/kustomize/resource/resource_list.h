// ResourceList: the resources of a build, in their order (upstream: resmap). Thread-compatible; owns them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/resource/resource.h"
#include "cli/kustomize/resource/selector.h"

namespace flyball::cli::kustomize {

class ResourceList {
 public:
  using Items = std::vector<std::unique_ptr<Resource>>;

  const Items& items() const { return items_; }
  Items& items() { return items_; }

  // Fails if there is one with this id.
  Status Append(std::unique_ptr<Resource> resource);
  Status AppendAll(ResourceList other);
  // Adds what a generator made: as a new one, or in place of or merged into the one it names.
  Status Absorb(std::unique_ptr<Resource> generated);
  void DropEmpty();

  // Those for which one of their ids, former ones included, satisfies `matches`.
  std::vector<Resource*> WithAnyId(const std::function<bool(const ResourceId&)>& matches) const;
  // The one that has or had this id. Fails if there is none or if there are several.
  Result<Resource*> FindById(const ResourceId& id) const;
  Result<std::vector<Resource*>> Select(const Selector& selector) const;

 private:
  Status ReplaceOrMerge(Resource& old, std::unique_ptr<Resource> generated);

  Items items_;
};

}  // namespace flyball::cli::kustomize
