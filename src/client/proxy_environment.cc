#include "client/proxy_environment.h"

#include <cstdlib>
#include <optional>

#include "api/values/ip_address.h"
#include "base/values/ascii.h"

namespace flyball {
namespace {

struct HostPort {
  std::string host;  // in lower case, an IPv6 address without its brackets
  std::string port;  // "" if none is said
};

HostPort SplitHostPort(std::string_view text) {
  std::string_view host = text, port;
  const std::size_t bracket = text.rfind(']'), colon = text.rfind(':');
  const bool is_bare_v6 = bracket == std::string_view::npos && text.find(':') != colon;
  if (colon != std::string_view::npos && !is_bare_v6 &&
      (bracket == std::string_view::npos || colon > bracket)) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  return {LowerCase(Trimmed(host, "[]")), std::string(port)};
}

HostPort HostOf(std::string_view url) {
  if (const std::size_t at = url.find("://"); at != std::string_view::npos) url.remove_prefix(at + 3);
  return SplitHostPort(url.substr(0, url.find_first_of("/?#")));
}

bool IsLocal(const std::string& host, const std::optional<api::IpAddress>& ip) {
  return host == "localhost" || (ip && ip->IsLoopback());
}

// "example.com" covers itself and what is below it, ".example.com" and "*.example.com" only the latter.
bool CoversName(std::string_view pattern, std::string_view host) {
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.starts_with('.')) return host.ends_with(pattern);
  return host == pattern || host.ends_with("." + std::string(pattern));
}

bool Excludes(std::string_view entry, const HostPort& server, const std::optional<api::IpAddress>& ip) {
  if (entry == "*") return true;
  if (const auto block = api::ParseCidr(entry)) return ip && block->Contains(*ip);
  const HostPort excluded = SplitHostPort(entry);
  if (excluded.host.empty()) return false;
  if (!excluded.port.empty() && excluded.port != server.port) return false;
  if (const auto address = api::ParseIp(excluded.host)) return ip && *ip == *address;
  return CoversName(excluded.host, server.host);
}

std::string Either(const EnvironmentReader& environment, const char* upper, const char* lower) {
  std::string value = environment(upper);
  return value.empty() ? environment(lower) : value;
}

}  // namespace

EnvironmentReader ProcessEnvironment() {
  return [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
}

std::string ProxyFor(std::string_view url, const EnvironmentReader& environment) {
  const bool secure = url.starts_with("https://");
  const std::string proxy = secure ? Either(environment, "HTTPS_PROXY", "https_proxy")
                                   : Either(environment, "HTTP_PROXY", "http_proxy");
  if (proxy.empty()) return {};
  HostPort server = HostOf(url);
  if (server.port.empty()) server.port = secure ? "443" : "80";
  const auto ip = api::ParseIp(server.host);
  if (IsLocal(server.host, ip)) return {};
  for (const std::string& entry : SplitText(Either(environment, "NO_PROXY", "no_proxy"), ','))
    if (Excludes(LowerCase(Trimmed(entry)), server, ip)) return {};
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

}  // namespace flyball
