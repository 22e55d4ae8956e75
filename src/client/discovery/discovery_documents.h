// What a server serves, as the documents of discovery, and a folder that keeps them between runs: kubectl's
// own
// (~/.kube/cache/discovery/<host>), in its layout, so that both programs use each other's copies.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball {

struct DiscoveryDocuments {
  json::Value groups;  // an APIGroupList; the core group, if it is served, is first and has no name
  // An APIResourceList for every group and version ("apps/v1"), in the order of the groups; preferred
  // versions first.
  std::vector<std::pair<std::string, json::Value>> resources;
};

// Sends a GET of the path with the Accept header and returns the parsed answer.
using DiscoveryGet = std::function<Result<json::Value>(const std::string& path, std::string_view accept)>;
// Asks for all groups at once (aggregated discovery), or one by one where the server cannot. Groups whose
// server is away are left out.
Result<DiscoveryDocuments> FetchDiscovery(const DiscoveryGet& get);

// A folder of documents. Thread-compatible; a value.
class DiscoveryCache {
 public:
  // Copies this old are not used.
  static constexpr Duration kMaxAge = std::chrono::hours(6);

  explicit DiscoveryCache(std::string folder) : folder_(std::move(folder)) {}
  // Nothing if there is no whole, recent copy.
  std::optional<DiscoveryDocuments> Read(TimePoint now) const;
  // A copy that cannot be written is not missed.
  void Write(const DiscoveryDocuments& documents) const;

  // The folder below `parent` for a server: "https://10.0.0.1:6443" is kept in "10.0.0.1_6443".
  static std::string FolderFor(const std::string& parent, const std::string& url);

 private:
  const std::string folder_;
};

}  // namespace flyball
