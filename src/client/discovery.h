// RestMapper: what the server serves, by discovery, and from it the KindRef of a kind, a resource or a short
// name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/client.h"
#include "client/discovery/discovery_documents.h"
#include "client/kind_ref.h"

namespace flyball {

struct ApiResource {
  KindRef ref;
  std::string singular;
  std::vector<std::string> short_names, categories, verbs;
  std::vector<std::string> subresources;
};

// Reads discovery when first asked and again when something is not found (at most every ten seconds).
// Thread-safe; blocks.
class RestMapper {
 public:
  // With a cache, what was read by an earlier program is used until something is not found.
  explicit RestMapper(Client client, std::optional<DiscoveryCache> cache = std::nullopt)
      : client_(std::move(client)), cache_(std::move(cache)) {}

  // By kind; version may be empty: the server's preferred one. NotFound if it is not served.
  Result<KindRef> ForKind(std::string_view group, std::string_view version, std::string_view kind);
  // By what a person types: "pods", "po", "pod", "Pod", "deployments.apps", "deployments.v1.apps".
  Result<KindRef> ForResource(std::string_view text);
  // By the apiVersion and kind an object says.
  Result<KindRef> ForObject(const json::Value& object);
  // Everything, preferred versions first.
  Result<std::vector<ApiResource>> Resources();
  // Forgets what was read, and what is being read now.
  void Reset();

 private:
  using Table = std::shared_ptr<const std::vector<ApiResource>>;
  Result<Table> Load(bool fresh);
  Result<DiscoveryDocuments> Fetch();

  const Client client_;
  const std::optional<DiscoveryCache> cache_;
  Mutex mu_;
  Table table_ FLYBALL_GUARDED_BY(mu_);
  uint64_t resets_ FLYBALL_GUARDED_BY(mu_) = 0;
  SteadyTime loaded_ FLYBALL_GUARDED_BY(mu_){};
};

}  // namespace flyball
