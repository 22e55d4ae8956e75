// Selector: which resources a patch or a replacement is for (upstream: types.Selector).
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "cli/kustomize/resource/resource.h"

namespace flyball::cli::kustomize {

// As written in a kustomization. The parts of the id are regular expressions that match whole texts; an empty
// one matches everything.
struct Selector {
  ResourceId id;
  std::string label_selector, annotation_selector;
};

// A selector ready for use. Immutable, so thread-safe; cheap to copy.
class ResourceMatcher {
 public:
  // Fails if an expression or a label selector has no meaning.
  static Result<ResourceMatcher> Create(const Selector& selector);

  bool MatchesGvk(const Gvk& gvk) const;
  bool MatchesName(const std::string& name) const;
  bool MatchesNamespace(const std::string& ns) const;
  bool MatchesId(const ResourceId& id) const {
    return MatchesGvk(id.gvk) && MatchesName(id.name) && MatchesNamespace(id.ns);
  }
  // Labels and annotations.
  bool MatchesMetadata(const Resource& resource) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace flyball::cli::kustomize
