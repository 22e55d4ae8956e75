// KindRef: where a kind lives in the API: its group, version, resource name and scope. A value; what the
// dynamic client and the RESTMapper speak in.
#pragma once

#include <string>
#include <string_view>

#include "api/types/kind_traits.h"

namespace flyball {

struct KindRef {
  std::string group{}, version{}, kind{}, plural{};
  bool namespaced = true;

  bool operator==(const KindRef&) const = default;
  // "apps/v1"; "v1" for the core group.
  std::string ApiVersion() const;
  // "deployments.apps"; "pods".
  std::string GroupResource() const;
  // "/apis/apps/v1/namespaces/<ns>/deployments[/<name>[/<subresource>]]". An empty ns means all namespaces
  // (or a cluster-scoped kind); ns is ignored for cluster-scoped kinds. Parts are percent-encoded.
  std::string Path(std::string_view ns = {}, std::string_view name = {},
                   std::string_view subresource = {}) const;
};

// "apps/v1" -> {"apps", "v1"}; "v1" -> {"", "v1"}.
std::pair<std::string_view, std::string_view> SplitApiVersion(std::string_view api_version);

template <ApiObject T>
const KindRef& KindRefOf() {
  static const KindRef ref{std::string(KindTraits<T>::group), std::string(KindTraits<T>::version),
                           std::string(KindTraits<T>::kind), std::string(KindTraits<T>::plural),
                           KindTraits<T>::namespaced};
  return ref;
}

// The name of an object within its kind: "ns/name", or "name" when it has no namespace.
struct ObjectKey {
  std::string ns{}, name{};

  bool operator==(const ObjectKey&) const = default;
  auto operator<=>(const ObjectKey&) const = default;
  std::string ToString() const { return ns.empty() ? name : ns + "/" + name; }
  static ObjectKey Parse(std::string_view key);
};

}  // namespace flyball

template <>
struct std::hash<flyball::ObjectKey> {
  std::size_t operator()(const flyball::ObjectKey& key) const noexcept {
    const std::size_t h = std::hash<std::string_view>()(key.name);
    return h ^ (std::hash<std::string_view>()(key.ns) + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2));
  }
};
