// The external service registry as the controller sees it: what it holds, remembered, and the three ways to
// change it.
#pragma once

#include <flyball/http.h>
#include <flyball/sdk.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

// Records are JSON; a path names one: "namespaces/shop", "services/shop/web". Thread-safe. Blocks.
class Registry {
 public:
  // Reads everything the registry holds: what we registered before a restart is known again.
  static flyball::Result<std::unique_ptr<Registry>> Connect(const std::string& url,
                                                            const flyball::Runtime& runtime);

  // What the registry holds as far as we know.
  std::optional<flyball::json::Value> Cached(const std::string& path) const;
  std::vector<std::string> CachedPaths(const std::string& prefix) const;

  // Registers or changes; deletes. The cache follows when the registry has agreed.
  flyball::Status Put(const std::string& path, const flyball::json::Value& record);
  flyball::Status Delete(const std::string& path);

  // Reads it all again. The paths that are not what the cache said: somebody else was at work.
  flyball::Result<std::vector<std::string>> Refresh();

 private:
  Registry(std::unique_ptr<flyball::net::Transport> transport, const flyball::Runtime& runtime)
      : transport_(std::move(transport)), runtime_(runtime) {}
  flyball::Result<std::string> Send(const std::string& method, const std::string& path, std::string body);

  const std::unique_ptr<flyball::net::Transport> transport_;
  const flyball::Runtime runtime_;
  mutable std::mutex mu_;
  std::map<std::string, flyball::json::Value> cache_;  // guarded by mu_
};
