#include "client/kind_ref.h"

#include "client/rest_client.h"

namespace flyball {

std::string KindRef::ApiVersion() const {
  return group.empty() ? version : group + "/" + version;
}

std::string KindRef::GroupResource() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string KindRef::Path(std::string_view ns, std::string_view name, std::string_view subresource) const {
  std::string path = group.empty() ? "/api/" : "/apis/" + group + "/";
  path += version;
  if (namespaced && !ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  path += "/" + plural;
  if (!name.empty()) path += "/" + PercentEncode(name);
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

std::pair<std::string_view, std::string_view> SplitApiVersion(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

ObjectKey ObjectKey::Parse(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {"", std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

}  // namespace flyball
