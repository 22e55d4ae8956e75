#include "server/admission/resource_quota.h"

#include <set>
#include <string>
#include <vector>

#include "api/usage/quota.h"
#include "server/admission/limited_resources.h"
#include "server/registry/registry.h"

namespace flyball::server {
namespace {

using api::ResourceAmounts;

// Somebody else charged the same quota meanwhile: look again this often.
constexpr int kMaxChargeTries = 50;

api::QuotaKind QuotaKindOf(const AdmissionRequest& request) {
  return {request.resource.kind->group, request.resource.kind->plural};
}

// "cpu=1,memory=64Mi"
std::string AmountsText(const ResourceAmounts& amounts, const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    const auto it = amounts.find(name);
    if (it == amounts.end()) continue;
    if (!text.empty()) text += ",";
    text += name + "=" + it->second.ToString();
  }
  return text;
}

std::set<std::string> NamesOf(const ResourceAmounts& amounts) {
  std::set<std::string> names;
  for (const auto& [name, quantity] : amounts) names.insert(name);
  return names;
}

bool ChangesCount(const AdmissionRequest& request) {
  using Operation = AdmissionRequest::Operation;
  const auto kind = QuotaKindOf(request);
  const bool core = kind.group.empty();
  if (request.operation == Operation::kCreate) return request.subresource.empty();
  if (request.operation != Operation::kUpdate) return false;
  if (core && kind.plural == "pods") return request.subresource == "resize";
  const bool grows = core && (kind.plural == "services" || kind.plural == "persistentvolumeclaims");
  return grows && request.subresource.empty();
}

bool IsCounted(const AdmissionRequest& request) {
  if (!request.object || request.namespace_name.empty() || !request.resource.cache) return false;
  const auto kind = QuotaKindOf(request);
  if (kind.plural == "namespaces" && kind.group.empty()) return false;
  if (kind.plural == "events") return false;  // they come and go by themselves
  return ChangesCount(request);
}

// The object's use, or on an update what it uses more than before. Zeros are left out.
ResourceAmounts AddedUse(const AdmissionRequest& request) {
  const auto kind = QuotaKindOf(request);
  auto use = api::QuotaUsage(kind, *request.object, request.scope.now);
  if (request.old_object)
    for (const auto& [name, before] : api::QuotaUsage(kind, *request.old_object, request.scope.now))
      if (const auto it = use.find(name); it != use.end()) it->second -= before;
  std::erase_if(use, [](const auto& item) { return item.second.Sign() <= 0; });
  return use;
}

std::set<std::string> NegativeUse(const AdmissionRequest& request) {
  std::set<std::string> names;
  for (const auto& [name, amount] : api::QuotaUsage(QuotaKindOf(request), *request.object, request.scope.now))
    if (amount.Sign() < 0) names.insert(name);
  return names;
}

std::string JoinSet(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// One quota and what the request would make of it.
struct Charge {
  std::string name;
  json::Value used;  // the new status.used
  store::Revision revision = 0;
};

class ResourceQuotaAdmission final : public AdmissionPlugin {
 public:
  ResourceQuotaAdmission(const Catalog& catalog, const RegistryAccess& access,
                         std::vector<LimitedResource> limited)
      : quotas_(catalog.Find("", "v1", "resourcequotas")), access_(access), limited_(std::move(limited)) {}
  std::string_view name() const override { return "ResourceQuota"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!IsCounted(request)) co_return Status();
    for (int attempt = 1;; ++attempt) {
      FLYBALL_CO_ASSIGN(const std::vector<Charge> charges, PlanCharges(request));
      if (charges.empty() || request.scope.dry_run) co_return Status();
      bool stale = false;
      for (const auto& charge : charges) {
        auto charged = co_await Apply(request, charge);
        if (charged) continue;
        // What was added to earlier quotas stays until they are counted anew, as upstream.
        stale = charged.error().Is(Reason::kConflict) || charged.error().Is(Reason::kNotFound);
        if (!stale) co_return Unexpected(charged.error());
        break;
      }
      if (!stale) co_return Status();
      if (attempt == kMaxChargeTries)
        co_return Unexpected(AdmissionForbidden(request, "the quota could not be charged: too many writers"));
    }
  }

 private:
  Result<std::vector<Charge>> PlanCharges(const AdmissionRequest& request) const {
    std::vector<Charge> charges;
    ObjectFilter filter;
    filter.namespace_name = request.namespace_name;
    const auto quotas = quotas_->cache->List(filter).objects;
    if (quotas.empty() && limited_.empty()) return charges;
    QuotaCover cover;
    for (const auto& object : quotas) {
      const json::Value& quota = object->Parsed();
      if (!QuotaIsAbout(quota, request)) continue;
      AddCover(quota, request, cover);
      FLYBALL_ASSIGN(const ResourceAmounts used, UseAfter(quota, request));
      if (used.empty()) continue;
      charges.push_back({object->name(), api::ResourceListValue(used), object->revision()});
    }
    if (!limited_.empty() && !AddedUse(request).empty())
      FLYBALL_TRY(CheckQuotaCover(request, limited_,
                                  api::QuotaUsage(QuotaKindOf(request), *request.object, request.scope.now),
                                  cover));
    return charges;
  }

  static void AddCover(const json::Value& quota, const AdmissionRequest& request, QuotaCover& cover) {
    const auto kind = QuotaKindOf(request);
    for (const auto& [name, quantity] : api::ResourceAmountsOf(quota["status"]["hard"]))
      if (api::QuotaCounts(kind, name)) cover.resources.insert(name);
    for (const auto& scope : api::ScopesOfQuota(quota["spec"])) cover.scopes.insert(scope.name);
  }

  static bool QuotaIsAbout(const json::Value& quota, const AdmissionRequest& request) {
    const auto kind = QuotaKindOf(request);
    bool counts = false;
    for (const auto& [name, quantity] : api::ResourceAmountsOf(quota["status"]["hard"]))
      counts |= api::QuotaCounts(kind, name);
    return counts && api::InQuotaScopes(quota["spec"], kind, *request.object);
  }

  // The quota's whole use after this write; empty if it changes nothing. Forbidden if it is too much.
  static Result<ResourceAmounts> UseAfter(const json::Value& quota, const AdmissionRequest& request) {
    const std::string name(quota["metadata"]["name"].string_or(""));
    const auto hard = api::ResourceAmountsOf(quota["status"]["hard"]);
    auto used = api::ResourceAmountsOf(quota["status"]["used"]);
    const auto kind = QuotaKindOf(request);
    if (const auto missing = api::MissingForQuota(kind, NamesOf(hard), *request.object); !missing.empty())
      return Unexpected(AdmissionForbidden(request, "failed quota: " + name + ": " + missing));
    std::set<std::string> unknown, exceeded;
    for (const auto& [resource, limit] : hard)
      if (api::QuotaCounts(kind, resource) && !used.contains(resource)) unknown.insert(resource);
    if (!unknown.empty())
      return Unexpected(AdmissionForbidden(
          request, "status unknown for quota: " + name + ", resources: " + JoinSet(unknown)));
    if (const auto negative = NegativeUse(request); !negative.empty())
      return Unexpected(
          AdmissionForbidden(request, "quota usage is negative for resource(s): " + JoinSet(negative)));
    auto added = AddedUse(request);
    std::erase_if(added, [&](const auto& item) { return !hard.contains(item.first); });
    const auto before = used;
    api::AddAmounts(used, added);
    for (const auto& [resource, amount] : added)
      if (used[resource] > hard.at(resource)) exceeded.insert(resource);
    if (!exceeded.empty())
      return Unexpected(AdmissionForbidden(
          request, "exceeded quota: " + name + ", requested: " + AmountsText(added, exceeded) + ", used: " +
                       AmountsText(before, exceeded) + ", limited: " + AmountsText(hard, exceeded)));
    return added.empty() ? ResourceAmounts{} : used;
  }

  Task<Status> Apply(const AdmissionRequest& request, const Charge& charge) const {
    RequestScope scope({}, {}, request.scope.executor, request.scope.now);
    scope.field_manager = "kube-apiserver";
    scope.info.namespace_name = request.namespace_name;
    UpdateOptions options;
    options.subresource = "status";
    options.skip_admission = true;
    Registry::Transform transform = [&charge](const json::Value& current) -> Result<json::Value> {
      json::Value next = current;
      next["metadata"]["resourceVersion"] = std::to_string(charge.revision);
      next["status"]["used"] = charge.used;
      return next;
    };
    FLYBALL_CO_TRY(co_await access_.registry->Update(scope, *quotas_, request.namespace_name, charge.name,
                                                     std::move(transform), std::move(options)));
    co_return Status();
  }

  const ResourcePtr quotas_;
  const RegistryAccess& access_;
  const std::vector<LimitedResource> limited_;
};

}  // namespace

Result<std::unique_ptr<AdmissionPlugin>> NewResourceQuotaAdmission(
    const Catalog& catalog, const RegistryAccess& access, const std::optional<std::string>& configuration) {
  FLYBALL_ASSIGN(auto limited, ReadLimitedResources(configuration));
  return std::unique_ptr<AdmissionPlugin>(
      std::make_unique<ResourceQuotaAdmission>(catalog, access, std::move(limited)));
}

}  // namespace flyball::server
