#include "network/ingress/route_table.h"

#include <algorithm>
#include <tuple>

#include "base/values/ascii.h"

namespace flyball::network {
namespace {

BackendRef RefOf(const Ingress& ingress, const IngressBackend& backend) {
  BackendRef ref{.ns = ingress.metadata.namespace_};
  if (!backend.service) return ref;
  ref.service = backend.service->name;
  ref.port_name = backend.service->port.name;
  ref.port = backend.service->port.number;
  return ref;
}

// By elements between slashes: /foo matches /foo, /foo/ and /foo/bar, but not /foobar.
bool HasPrefix(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/';
}

}  // namespace

std::string HostWithoutPort(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  std::string name = LowerCase(port ? host.substr(0, colon) : host);
  if (name.ends_with('.')) name.pop_back();
  return name;
}

std::string WildcardOf(std::string_view host) {
  const std::size_t dot = host.find('.');
  return dot == std::string_view::npos || dot == 0 ? "" : "*" + std::string(host.substr(dot));
}

bool OlderIngress(const Ingress& a, const Ingress& b) {
  const auto key = [](const Ingress& ingress) {
    const ObjectMeta& meta = ingress.metadata;
    return std::tie(meta.creation_timestamp, meta.namespace_, meta.name);
  };
  return key(a) < key(b);
}

RouteTable::RouteTable(std::vector<std::shared_ptr<const Ingress>> ingresses) {
  std::sort(ingresses.begin(), ingresses.end(),
            [](const auto& a, const auto& b) { return OlderIngress(*a, *b); });
  for (const auto& ingress : ingresses) Add(*ingress);
  // Stable: of equals, the one that came first stays first.
  for (auto& [name, host] : hosts_)
    std::stable_sort(host.paths.begin(), host.paths.end(), [](const Path& a, const Path& b) {
      return std::tuple(a.exact, a.text.size()) > std::tuple(b.exact, b.text.size());
    });
}

void RouteTable::Add(const Ingress& ingress) {
  std::optional<BackendRef> fallback;
  if (ingress.spec.default_backend) fallback = RefOf(ingress, *ingress.spec.default_backend);
  if (ingress.spec.rules.empty() && fallback && !fallback_) fallback_ = fallback;
  for (const IngressRule& rule : ingress.spec.rules) {
    Host& host = hosts_[LowerCase(rule.host)];
    if (!host.fallback) host.fallback = fallback;
    if (!rule.http) continue;
    for (const HTTPIngressPath& path : rule.http->paths) {
      const bool exact = path.path_type == "Exact";
      std::string text = path.path;
      while (!exact && text.ends_with('/')) text.pop_back();
      host.paths.push_back({std::move(text), exact, RefOf(ingress, path.backend)});
      ++rules_;
    }
  }
}

const BackendRef* RouteTable::FindPath(const Host& host, std::string_view path) {
  for (const Path& candidate : host.paths)
    if (candidate.exact ? path == candidate.text : HasPrefix(path, candidate.text)) return &candidate.backend;
  return host.fallback ? &*host.fallback : nullptr;
}

const BackendRef* RouteTable::Find(std::string_view host, std::string_view path) const {
  const std::string name = HostWithoutPort(host);
  auto found = name.empty() ? hosts_.end() : hosts_.find(name);
  if (found == hosts_.end()) found = hosts_.find(WildcardOf(name));
  // WildcardOf may be "", which is the entry for all hosts already.
  if (found == hosts_.end()) found = hosts_.find("");
  if (found != hosts_.end())
    if (const BackendRef* ref = FindPath(found->second, path)) return ref;
  return fallback_ ? &*fallback_ : nullptr;
}

std::vector<BackendRef> RouteTable::Backends() const {
  std::vector<BackendRef> all;
  if (fallback_) all.push_back(*fallback_);
  for (const auto& [name, host] : hosts_) {
    if (host.fallback) all.push_back(*host.fallback);
    for (const Path& path : host.paths) all.push_back(path.backend);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace flyball::network
