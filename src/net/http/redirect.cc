#include "net/http/redirect.h"

#include <algorithm>

namespace flyball::net {

bool IsRedirect(int status) {
  return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

std::string ResolveLocation(const std::string& url, const std::string& location) {
  if (location.find("://") != std::string::npos) return location;
  const std::size_t host = url.find("://") + 3;
  if (location.starts_with("//")) return url.substr(0, host - 2) + location;
  const std::size_t path = std::min(url.find_first_of("/?#", host), url.size());
  if (location.starts_with('/')) return url.substr(0, path) + location;
  const std::string whole = url.substr(0, std::min(url.find_first_of("?#", path), url.size()));
  const std::size_t slash = whole.rfind('/');
  return (slash == std::string::npos || slash < path ? whole + "/" : whole.substr(0, slash + 1)) + location;
}

}  // namespace flyball::net
