#include "registry.h"

#include <set>
#include <utility>

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

Result<std::unique_ptr<Registry>> Registry::Connect(const std::string& url, const Runtime& runtime) {
  FLYBALL_ASSIGN(auto transport, net::NewHttpClient({.url = url}));
  std::unique_ptr<Registry> registry(new Registry(std::move(transport), runtime));
  FLYBALL_TRY(registry->Refresh());
  return registry;
}

Result<std::string> Registry::Send(const std::string& method, const std::string& path, std::string body) {
  net::Request request{.method = method, .target = "/v1/" + path, .body = std::move(body)};
  if (!request.body.empty()) request.headers.Set("content-type", "application/json");
  FLYBALL_ASSIGN(auto answer, net::RoundTrip(*transport_, std::move(request), runtime_.executor, 10s));
  if (answer.status < 300) return std::move(answer.body);
  return Unexpected(InternalError("registry: " + method + " " + path + ": " + std::to_string(answer.status)));
}

std::optional<json::Value> Registry::Cached(const std::string& path) const {
  const std::lock_guard lock(mu_);
  const auto it = cache_.find(path);
  if (it == cache_.end()) return std::nullopt;
  return it->second;
}

std::vector<std::string> Registry::CachedPaths(const std::string& prefix) const {
  std::vector<std::string> paths;
  const std::lock_guard lock(mu_);
  for (const auto& [path, record] : cache_)
    if (path.starts_with(prefix)) paths.push_back(path);
  return paths;
}

Status Registry::Put(const std::string& path, const json::Value& record) {
  FLYBALL_TRY(Send("PUT", path, json::Write(record)));
  const std::lock_guard lock(mu_);
  cache_[path] = record;
  return {};
}

Status Registry::Delete(const std::string& path) {
  FLYBALL_TRY(Send("DELETE", path, ""));
  const std::lock_guard lock(mu_);
  cache_.erase(path);
  return {};
}

Result<std::vector<std::string>> Registry::Refresh() {
  FLYBALL_ASSIGN(const std::string text, Send("GET", "records", ""));
  FLYBALL_ASSIGN(const json::Value content, json::Parse(text));
  std::map<std::string, json::Value> fresh;
  if (content.is_object())
    for (const auto& [path, record] : content.as_object()) fresh[std::string(path)] = record;
  std::vector<std::string> differ;
  const std::lock_guard lock(mu_);
  for (const auto& [path, record] : cache_)
    if (!fresh.contains(path) || !(fresh[path] == record)) differ.push_back(path);
  for (const auto& [path, record] : fresh)
    if (!cache_.contains(path)) differ.push_back(path);
  cache_ = std::move(fresh);
  return differ;
}
