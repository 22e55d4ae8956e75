#include "server/aggregation/remote_api.h"

#include "api/values/base64.h"
#include "base/values/ascii.h"

namespace flyball::server {
std::string RemoteApi::Path() const {
  return group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
}

RemoteApiPtr ReadRemoteApi(const json::Value& api_service) {
  const auto& spec = api_service["spec"];
  const auto& service = spec["service"];
  if (!service.is_object()) return nullptr;
  auto api = std::make_shared<RemoteApi>();
  api->name = api_service["metadata"]["name"].string_or("");
  api->group = spec["group"].string_or("");
  api->version = spec["version"].string_or("");
  api->service_namespace = service["namespace"].string_or("");
  api->service_name = service["name"].string_or("");
  api->port = service["port"].int_or(api->port);
  std::size_t bad = 0;
  api::DecodeBase64(spec["caBundle"].string_or(""), api->trust.ca_pem, bad);
  api->trust.server_name = api->service_name + "." + api->service_namespace + ".svc";
  api->trust.insecure = spec["insecureSkipTLSVerify"].bool_or(false);
  api->priority = {static_cast<int>(spec["groupPriorityMinimum"].int_or(0)),
                   static_cast<int>(spec["versionPriority"].int_or(0))};
  if (const auto& conditions = api_service["status"]["conditions"]; conditions.is_array())
    for (const auto& condition : conditions.as_array())
      if (condition["type"].string_or("") == "Available")
        api->available = condition["status"].string_or("") == "True";
  return api;
}

void RemoteApis::Set(const std::string& name, RemoteApiPtr api) {
  MutexLock lock(mu_);
  if (api)
    apis_[name] = std::move(api);
  else
    apis_.erase(name);
  any_ = !apis_.empty();
}

RemoteApiPtr RemoteApis::Get(const std::string& name) const {
  MutexLock lock(mu_);
  const auto found = apis_.find(name);
  return found == apis_.end() ? nullptr : found->second;
}

RemoteApiPtr RemoteApis::FindVersion(std::string_view group, std::string_view version) const {
  return Get(std::string(version) + "." + std::string(group));
}

RemoteApiPtr RemoteApis::Find(const RequestInfo& info) const {
  if (!any_) return nullptr;
  if (info.is_resource) return FindVersion(info.group, info.version);
  const auto segments = SplitWords(info.path, "/");
  if (segments.size() == 5 && segments[0] == "openapi" && segments[1] == "v3" && segments[2] == "apis")
    return FindVersion(segments[3], segments[4]);
  if (segments.size() == 3 && segments[0] == "apis") return FindVersion(segments[1], segments[2]);
  if (segments.size() == 2 && segments[0] == "api") return FindVersion("", segments[1]);
  return nullptr;
}

std::vector<std::string> RemoteApis::ServedBy(std::string_view service_namespace,
                                              std::string_view service_name) const {
  std::vector<std::string> names;
  if (!any_) return names;
  MutexLock lock(mu_);
  for (const auto& [name, api] : apis_)
    if (api->service_namespace == service_namespace && api->service_name == service_name)
      names.push_back(name);
  return names;
}

}  // namespace flyball::server
