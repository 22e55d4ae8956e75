#include "cli/data/etcd_overrides.h"

#include <algorithm>
#include <set>

#include "api/schema/schema.h"
#include "base/values/ascii.h"
#include "server/catalog/catalog.h"

namespace flyball::cli {
namespace {

Error Invalid(const std::string& what) {
  return BadRequest("--etcd-servers-overrides " + what);
}

Error WrongForm() {
  return Invalid(
      "invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated");
}

Result<std::string> PrefixOf(std::string_view group_resource) {
  const std::size_t slash = group_resource.find('/');
  if (slash == std::string_view::npos || group_resource.find('/', slash + 1) != std::string_view::npos)
    return Unexpected(WrongForm());
  const std::string_view group = group_resource.substr(0, slash), resource = group_resource.substr(slash + 1);
  const auto& kinds = api::BuiltinKinds();
  const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const api::KindInfo& kind) {
    return kind.group == group && kind.plural == resource;
  });
  if (!known) return Unexpected(Invalid("invalid: no built-in resource is " + std::string(group_resource)));
  if (resource == "services" || resource == "ipaddresses")
    return Unexpected(Invalid("cannot have " + std::string(group_resource) +
                              ": Services, IPAddresses and node ports are written in one transaction"));
  return server::StoragePrefix(group, resource);
}

}  // namespace

Result<std::vector<EtcdOverride>> ParseEtcdOverrides(std::string_view text) {
  std::vector<EtcdOverride> overrides;
  std::set<std::string> seen;
  for (const std::string& item : SplitWords(text, ",")) {
    const auto parts = SplitText(item, '#');
    if (parts.size() != 2) return Unexpected(WrongForm());
    FLYBALL_ASSIGN(const std::string prefix, PrefixOf(parts[0]));
    if (!seen.insert(prefix).second) return Unexpected(Invalid("has " + parts[0] + " twice"));
    const auto servers = SplitText(parts[1], ';');
    if (std::find(servers.begin(), servers.end(), "") != servers.end()) return Unexpected(WrongForm());
    const auto same = std::find_if(overrides.begin(), overrides.end(), [&](const EtcdOverride& other) {
      return std::is_permutation(servers.begin(), servers.end(), other.endpoints.begin(),
                                 other.endpoints.end());
    });
    if (same != overrides.end())
      same->prefixes.push_back(prefix);
    else
      overrides.push_back({{prefix}, servers});
  }
  return overrides;
}

}  // namespace flyball::cli
