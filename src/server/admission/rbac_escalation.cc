#include "server/admission/rbac_escalation.h"

#include <set>

#include "api/values/go_text.h"
#include "server/admission/basis/requests.h"
#include "server/admission/granted_rules.h"
#include "server/auth/rbac.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

std::vector<GrantedRule> FullAuthority() {
  return {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
}

bool Aggregates(const json::Value& role) {
  return !role["aggregationRule"]["clusterRoleSelectors"].empty();
}

class RbacEscalationCheck final : public AdmissionPlugin {
 public:
  RbacEscalationCheck(const Catalog& catalog, const Authorizer& authorizer)
      : authorizer_(authorizer),
        roles_(catalog.Find(kRbacGroup, "v1", "roles")),
        cluster_roles_(catalog.Find(kRbacGroup, "v1", "clusterroles")) {}
  std::string_view name() const override { return "RbacEscalationCheck"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (request.resource.kind->group != kRbacGroup || !request.object || request.operation == kDelete)
      co_return Status();
    if (request.scope.user.InGroup(kMastersGroup) || ChangesOnlyWhatCollectionNeeds(request))
      co_return Status();
    const auto plural = request.resource.kind->plural;
    if (plural == "roles" || plural == "clusterroles") co_return co_await CheckRole(request);
    co_return co_await CheckBinding(request);
  }

 private:
  static constexpr auto kDelete = AdmissionRequest::Operation::kDelete;

  // Every change of a role grants its rules anew, to whomever it may reach now: a label decides which
  // aggregated roles have them. So whoever changes anything must hold them all.
  Task<Status> CheckRole(const AdmissionRequest& request) const {
    const auto& role = *request.object;
    const std::string& name = request.scope.info.name;
    if (co_await Allowed(request, "escalate", request.resource.kind->plural, request.namespace_name, name))
      co_return Status();
    FLYBALL_CO_TRY(ConfirmHeld(request, GrantedRules(role["rules"])));
    const bool aggregates = Aggregates(role) || (request.old_object && Aggregates(*request.old_object));
    if (!aggregates || MissingRights(HeldBy(request), FullAuthority()).empty()) co_return Status();
    co_return Unexpected(
        AdmissionForbidden(request, "must have cluster-admin privileges to use the aggregationRule"));
  }

  Task<Status> CheckBinding(const AdmissionRequest& request) const {
    const auto& reference = (*request.object)["roleRef"];
    const std::string name(reference["name"].string_or(""));
    const bool cluster = reference["kind"].string_or("") == "ClusterRole";
    if (co_await Allowed(request, "bind", cluster ? "clusterroles" : "roles", request.namespace_name, name))
      co_return Status();
    const auto& resource = cluster ? cluster_roles_ : roles_;
    const auto role = resource->cache->Get(
        ServedResource::CacheKey(cluster ? std::string_view{} : request.namespace_name, name));
    if (!role) co_return Unexpected(NotFound(*resource->kind, name));
    const json::Value value = role->ToValue();
    if (!cluster) co_return ConfirmHeld(request, GrantedRules(value["rules"]));
    // What the role aggregates counts at once, whether or not it has been written into its rules.
    const json::Value rules = EffectiveRules(value, cluster_roles_->cache->List({}).objects);
    co_return ConfirmHeld(request, GrantedRules(rules));
  }

  Task<bool> Allowed(const AdmissionRequest& request, std::string_view verb, std::string_view resource,
                     std::string_view namespace_name, std::string_view name) const {
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = verb;
    attributes.group = kRbacGroup;
    attributes.version = "*";
    attributes.resource = resource;
    attributes.namespace_name = namespace_name;
    attributes.name = name;
    const auto verdict = co_await authorizer_.Authorize(attributes, request.scope.executor);
    co_return verdict.decision == Decision::kAllow;
  }

  std::vector<GrantedRule> HeldBy(const AdmissionRequest& request) const {
    const auto lists = authorizer_.RulesFor(request.scope.user, request.namespace_name);
    auto held = GrantedRules(json::Value(lists.resource_rules));
    for (auto& rule : GrantedRules(json::Value(lists.non_resource_rules))) held.push_back(std::move(rule));
    return held;
  }

  Status ConfirmHeld(const AdmissionRequest& request, const std::vector<GrantedRule>& wanted) const {
    const auto& user = request.scope.user;
    std::set<std::string> missing;
    for (const auto& rule : MissingRights(HeldBy(request), wanted)) missing.insert(rule.ToString());
    if (missing.empty()) return {};
    std::string text = "user " + api::GoQuote(user.name) + " (groups=" + QuotedList(user.groups) +
                       ") is attempting to grant RBAC permissions not currently held:";
    for (const auto& rule : missing) text += "\n" + rule;
    return Unexpected(AdmissionForbidden(request, text));
  }

  const Authorizer& authorizer_;
  const ResourcePtr roles_, cluster_roles_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewRbacEscalationCheck(const Catalog& catalog,
                                                        const Authorizer& authorizer) {
  return std::make_unique<RbacEscalationCheck>(catalog, authorizer);
}

}  // namespace flyball::server
