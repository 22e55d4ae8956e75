// RouteTable: which backend a request goes to, by the rules of all Ingress objects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/networking.h"

namespace flyball::network {

// A port of a Service, as an Ingress names it. With neither name nor number: a backend that is no Service.
struct BackendRef {
  std::string ns{}, service{};
  std::string port_name{};
  std::int32_t port = 0;
  auto operator<=>(const BackendRef&) const = default;
};

// Immutable once built; thread-safe. Which rule wins: a host over a wildcard over no host at all; within one
// host an exact path over prefixes and the longest prefix over shorter ones; between equals the older
// Ingress.
class RouteTable {
 public:
  // `ingresses`: all that are ours, in any order.
  explicit RouteTable(std::vector<std::shared_ptr<const Ingress>> ingresses);
  RouteTable() = default;

  // Null: nobody has asked for such requests. `host` may have a port and is of any case; `path` is without
  // its query.
  const BackendRef* Find(std::string_view host, std::string_view path) const;
  // Every backend that some request may go to.
  std::vector<BackendRef> Backends() const;
  std::size_t rules() const { return rules_; }

 private:
  struct Path {
    std::string text;  // of a prefix: without the slash at its end
    bool exact = false;
    BackendRef backend;
  };
  struct Host {
    std::vector<Path> paths;  // the one that wins first
    std::optional<BackendRef> fallback;
  };

  void Add(const Ingress& ingress);
  static const BackendRef* FindPath(const Host& host, std::string_view path);

  std::map<std::string, Host, std::less<>> hosts_;  // "web.example", "*.example", "" for all
  std::optional<BackendRef> fallback_;              // of Ingress objects without rules
  std::size_t rules_ = 0;
};

// "Web.Example:8080" as "web.example"; "[::1]:80" as "[::1]".
std::string HostWithoutPort(std::string_view host);
// "*.example" for "web.example"; "" if there is no wildcard for it.
std::string WildcardOf(std::string_view host);
// The older one first, then by name: the order in which Ingress objects win.
bool OlderIngress(const Ingress& a, const Ingress& b);

}  // namespace flyball::network
