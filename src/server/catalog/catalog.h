// Catalog: what this server serves: every built-in resource and every custom one that is established, by
// group, version and plural. Readers take an immutable snapshot; a custom resource definition swaps in a new
// one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/kind_hooks.h"
#include "api/schema/schema.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "server/cache/watch_cache.h"
#include "server/catalog/runtime_config.h"

namespace flyball::api {
class CustomKind;
}

namespace flyball::server {

// Turns a stored object of a built-in kind into a version it is not stored as, and back (upstream:
// conversion).
struct VersionConversion {
  std::function<json::Value(json::Value object)> from_stored, to_stored;
};

// Turns objects of a custom kind into another of its versions (upstream: the conversion strategies). They are
// stored as they were written: in the version that was the storage version then. Thread-safe.
class VersionConverter {
 public:
  virtual ~VersionConverter() = default;
  // The objects in the same order, each as one of `api_version`. Those that are so already stay as they are.
  // If one cannot be converted none is. Resumes on `resume`.
  virtual Task<Result<std::vector<json::Value>>> Convert(std::vector<json::Value> objects,
                                                         std::string_view api_version,
                                                         Executor& resume) const = 0;
  // The kind in one of its versions, served or not; null if it has no such version.
  virtual const api::KindInfo* KindOf(std::string_view api_version) const = 0;
  // Whether it asks another server: what comes back is then worth keeping, and may differ in labels.
  virtual bool IsRemote() const = 0;
};

// One resource in one version.
struct ServedResource {
  std::shared_ptr<const api::KindInfo> kind;
  const api::KindHooks* hooks = nullptr;
  std::string prefix;                    // "/registry/pods/"; empty: nothing is stored (reviews, bindings)
  std::shared_ptr<ResourceCache> cache;  // null: nothing is stored
  std::shared_ptr<const api::CustomKind> custom;  // null: built-in
  // Built-in kinds are worked with in the version they are stored in, custom ones in the version that is
  // asked for.
  std::shared_ptr<const VersionConversion> conversion;  // built-in; null: stored in this version
  std::shared_ptr<const VersionConverter> converter;    // custom; null: there is one version only
  // Custom: lists and watches select among converted objects, because labels or selectable fields may differ.
  bool selects_converted = false;
  bool preferred = true;     // the version discovery prefers for this group
  bool disabled = false;     // kept for the server itself, but not served (RuntimeConfig)
  bool listed = true;        // in discovery; custom kinds are served a moment before their status says so
  bool terminating = false;  // custom: its definition is being deleted, nothing is created any more

  // "/registry/pods/ns/name".
  std::string Key(std::string_view namespace_name, std::string_view name) const;
  // "ns/name" or "name": the cache's key.
  static std::string CacheKey(std::string_view namespace_name, std::string_view name);
  // Whether its objects are stored as this very version.
  bool IsStorageVersion() const;
  // The kind that the write path has objects as: the stored one of a built-in resource, else its own.
  const api::KindInfo& working_kind() const;
};
using ResourcePtr = std::shared_ptr<const ServedResource>;

// Thread-safe.
class Catalog {
 public:
  struct Snapshot {
    std::vector<ResourcePtr> ordered;  // discovery order: built-in groups, then custom ones by name
    std::vector<ResourcePtr> by_name;  // the same, sorted by group, version and plural
    std::uint64_t generation = 0;      // changes with every change: ETags of discovery and OpenAPI

    ResourcePtr Find(std::string_view group, std::string_view version, std::string_view plural) const;
    // Any version of it, the stored one first.
    ResourcePtr FindGroupResource(std::string_view group, std::string_view plural) const;
    ResourcePtr FindKind(std::string_view group, std::string_view version, std::string_view kind) const;
    bool HasGroup(std::string_view group) const;
    bool HasGroupVersion(std::string_view group, std::string_view version) const;
  };

  // Every built-in kind, its cache loaded from the store. An Error is the store's.
  // Kinds that `config` does not serve are there for the server itself, marked as disabled.
  static Result<std::unique_ptr<Catalog>> Make(WatchCache& cache, const RuntimeConfig& config);

  std::shared_ptr<const Snapshot> snapshot() const;
  ResourcePtr Find(std::string_view group, std::string_view version, std::string_view plural) const {
    return snapshot()->Find(group, version, plural);
  }

  // Adds or replaces the custom resources of one group and plural (all its served versions); an empty list
  // removes them.
  void SetCustom(const std::string& group, const std::string& plural, std::vector<ResourcePtr> versions);

 private:
  explicit Catalog(std::shared_ptr<const Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  mutable Mutex mu_;
  std::shared_ptr<const Snapshot> snapshot_ FLYBALL_GUARDED_BY(mu_);
};

// Where a built-in resource is stored, as kube-apiserver lays it out in etcd.
std::string StoragePrefix(std::string_view group, std::string_view plural);

}  // namespace flyball::server
