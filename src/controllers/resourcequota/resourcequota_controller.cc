#include "controllers/resourcequota/resourcequota_controller.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/types/core.h"
#include "api/usage/quota.h"
#include "controllers/resourcequota/object_counts.h"

namespace flyball::controllers {
namespace {

using api::QuotaKind;
using api::ResourceAmounts;

constexpr QuotaKind kQuotaPods{"", "pods"};
constexpr QuotaKind kQuotaServices{"", "services"};
constexpr QuotaKind kQuotaClaims{"", "persistentvolumeclaims"};
// Pods that should have been gone for a long time stop counting as time passes (upstream:
// --resource-quota-sync-period).
constexpr Duration kQuotaResync = std::chrono::minutes(5);
constexpr std::string_view kCountPrefix = "count/";

// Counts the objects that one quota covers.
class QuotaCount {
 public:
  QuotaCount(const ResourceQuota& quota, Context& ctx) : quota_(quota), spec_(ToJson(quota.spec)), ctx_(ctx) {
    for (const auto& [name, limit] : quota.spec.hard) used_[name] = api::Quantity(0);
  }

  // Usage of objects beyond their number.
  template <typename T>
  void AddObjects(const QuotaKind& kind) {
    if (!IsAbout(kind)) return;
    for (const auto& object : ctx_.lister<T>().List(quota_.metadata.namespace_)) {
      const json::Value value = ToJson(*object);
      if (api::InQuotaScopes(spec_, kind, value)) Add(api::QuotaUsage(kind, value, ctx_.Now()));
    }
  }

  // Resources that are only counted. Returns false if a count is not known yet.
  Result<bool> AddCounts(ObjectCounts& counts) {
    for (auto& [name, used] : used_) {
      const std::optional<std::pair<std::string, std::string>> kind = OnlyCounted(name);
      if (!kind || !api::InQuotaScopes(spec_, {kind->first, kind->second}, json::Value(json::Object{})))
        continue;
      FLYBALL_ASSIGN(const auto count, counts.Count(kind->first, kind->second, quota_.metadata.namespace_));
      if (!count) return false;
      used = api::Quantity(static_cast<std::int64_t>(*count));
    }
    return true;
  }

  const std::map<std::string, api::Quantity>& used() const { return used_; }

 private:
  bool IsAbout(const QuotaKind& kind) const {
    return std::any_of(used_.begin(), used_.end(),
                       [&](const auto& item) { return api::QuotaCounts(kind, item.first); });
  }

  void Add(const ResourceAmounts& usage) {
    for (const auto& [name, amount] : usage)
      if (const auto found = used_.find(name); found != used_.end()) found->second += amount;
  }

  // Group and plural of "configmaps" or "count/deployments.apps"; nothing for resources that AddObjects
  // handles.
  static std::optional<std::pair<std::string, std::string>> OnlyCounted(std::string_view name) {
    for (const QuotaKind& kind : {kQuotaPods, kQuotaServices, kQuotaClaims})
      if (api::QuotaCounts(kind, name)) return std::nullopt;
    if (name.starts_with(kCountPrefix)) name.remove_prefix(kCountPrefix.size());
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string group(dot < name.size() ? name.substr(dot + 1) : std::string_view());
    return std::pair(group, std::string(name.substr(0, dot)));
  }

  const ResourceQuota& quota_;
  const json::Value spec_;
  Context& ctx_;
  std::map<std::string, api::Quantity> used_;
};

Result<Action> ReconcileQuota(const ResourceQuota& quota, ObjectCounts& counts, Context& ctx) {
  QuotaCount count(quota, ctx);
  count.AddObjects<Pod>(kQuotaPods);
  count.AddObjects<Service>(kQuotaServices);
  count.AddObjects<PersistentVolumeClaim>(kQuotaClaims);
  FLYBALL_ASSIGN(const bool known, count.AddCounts(counts));
  if (!known) return Done();  // runs again when it is known

  ResourceQuota updated = quota;
  updated.status.hard = quota.spec.hard;
  updated.status.used = count.used();
  if (updated.status == quota.status) return Done();
  // With the version that was read, because admission may have charged the quota in the meantime.
  const auto written = ctx.client().UpdateStatus(updated);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return Done();
}

// Admission charges creations before any cache shows them; a count from a cache at that moment would give
// back what has just been charged. A quota is therefore counted when its own limits change, when objects are
// deleted or shrink (as upstream), and at every resync.
Predicates<ResourceQuota> LimitsChanged() {
  return {.create = nullptr,
          .update =
              [](const ResourceQuota& a, const ResourceQuota& b) {
                return a.metadata.resource_version == b.metadata.resource_version || a.spec != b.spec;
              },
          .remove = nullptr};
}

template <typename T>
Predicates<T> MayFree(std::function<bool(const T&, const T&)> update) {
  return {.create = [](const T&) { return false; }, .update = std::move(update), .remove = nullptr};
}

bool PodMayFree(const Pod& a, const Pod& b) {
  return a.status.phase != b.status.phase || a.metadata.generation != b.metadata.generation;
}

template <typename T>
bool SpecChanged(const T& a, const T& b) {
  return a.spec != b.spec;
}

}  // namespace

Status AddResourceQuotaController(Manager& manager, int workers) {
  const auto quotas = manager.informers().For<ResourceQuota>().lister();
  const auto in_namespace = [quotas](const std::string& ns) {
    std::vector<ObjectKey> keys;
    for (const auto& quota : quotas.List(ns))
      keys.push_back({quota->metadata.namespace_, quota->metadata.name});
    return keys;
  };
  const auto of_object = [in_namespace](const auto& object) {
    return in_namespace(std::string(MetaOf(object).ns));
  };
  const auto controller = std::make_shared<std::weak_ptr<Controller>>();
  const auto counts =
      std::make_shared<ObjectCounts>(manager, [controller, in_namespace](const std::string& ns) {
        if (const auto target = controller->lock())
          for (const ObjectKey& key : in_namespace(ns)) target->Enqueue(key);
      });
  std::shared_ptr<Controller> made;
  FLYBALL_TRY(manager.For<ResourceQuota>()
                  .Named("resourcequota-controller")
                  .When(LimitsChanged())
                  .Watches<Pod>(of_object, MayFree<Pod>(&PodMayFree))
                  .Watches<Service>(of_object, MayFree<Service>(&SpecChanged<Service>))
                  .Watches<PersistentVolumeClaim>(
                      of_object, MayFree<PersistentVolumeClaim>(&SpecChanged<PersistentVolumeClaim>))
                  .Resync(kQuotaResync)
                  .Workers(workers)
                  .Reconcile([counts](const ResourceQuota& quota,
                                      Context& ctx) { return ReconcileQuota(quota, *counts, ctx); },
                             &made));
  *controller = made;
  return {};
}

}  // namespace flyball::controllers
