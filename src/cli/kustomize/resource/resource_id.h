// Gvk and ResourceId: which object is meant (upstream: kyaml/resid). Values.
#pragma once

#include <string>
#include <string_view>

namespace flyball::cli::kustomize {

// Group, version and kind. As a selector, an empty part stands for any.
struct Gvk {
  std::string group, version, kind;
  bool operator==(const Gvk&) const = default;

  std::string ApiVersion() const;
  // "Deployment.v1.apps", with [noKind], [noVer] and [noGrp] for empty parts.
  std::string ToString() const;
  // "apps_v1_Deployment", with ~G, ~V and ~K for empty parts: what lists are sorted by.
  std::string SortText() const;
  bool IsSelectedBy(const Gvk& selector) const;
  // True only for kinds known to have no namespace. Unknown kinds count as namespaced.
  bool IsClusterScoped() const;
};
Gvk GvkOf(std::string_view api_version, std::string_view kind);

struct ResourceId {
  Gvk gvk;
  std::string name, ns;
  bool operator==(const ResourceId&) const = default;

  // "default" for none, and one that no object has for kinds without namespaces.
  std::string EffectiveNamespace() const;
  // The same object, whether or not the default namespace is written out.
  bool IsSame(const ResourceId& other) const;
  // Empty parts of the selector stand for any.
  bool IsSelectedBy(const ResourceId& selector) const;
  bool empty() const { return *this == ResourceId{}; }
  // "Deployment.v1.apps/web.[noNs]"
  std::string ToString() const;
  // As Go's %#v prints it.
  std::string GoText() const;
};

// The place of a kind in the order in which objects are created: negative comes first, 0 is all the rest.
int KindRank(std::string_view kind);
// By rank, then by SortText().
bool ComesBefore(const Gvk& a, const Gvk& b);

}  // namespace flyball::cli::kustomize
