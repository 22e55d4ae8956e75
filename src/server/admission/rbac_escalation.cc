#include "server/admission/rbac_escalation.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/values/go_text.h"
#include "server/admission/basis/requests.h"
#include "server/auth/rbac.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

std::vector<std::string> TextList(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

// Go's %q of a list of strings.
std::string QuotedList(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() == 1 ? "" : " ") + api::GoQuote(item);
  return text + "]";
}

bool HasOrAll(const std::vector<std::string>& list, const std::string& item) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& i) { return i == "*" || i == item; });
}

bool CoversResource(const std::vector<std::string>& held, const std::string& resource) {
  if (HasOrAll(held, resource)) return true;
  const auto slash = resource.find('/');
  if (slash == std::string::npos) return false;
  return std::find(held.begin(), held.end(), "*" + resource.substr(slash)) != held.end();
}

bool CoversUrl(const std::vector<std::string>& held, const std::string& url) {
  return std::any_of(held.begin(), held.end(), [&](const std::string& i) {
    return i == "*" || i == url || (i.ends_with('*') && url.starts_with(i.substr(0, i.size() - 1)));
  });
}

// Requires a wanted rule of one verb, and one resource or one URL.
bool Covers(const GrantedRule& held, const GrantedRule& wanted) {
  if (!HasOrAll(held.verbs, wanted.verbs[0])) return false;
  if (!wanted.urls.empty()) return CoversUrl(held.urls, wanted.urls[0]);
  if (!HasOrAll(held.groups, wanted.groups[0]) || !CoversResource(held.resources, wanted.resources[0]))
    return false;
  if (held.names.empty()) return true;
  return !wanted.names.empty() &&
         std::find(held.names.begin(), held.names.end(), wanted.names[0]) != held.names.end();
}

// How many parts a rule has: one verb and one thing each.
double PartCount(const GrantedRule& rule) {
  const auto size = [](const auto& list) { return static_cast<double>(list.size()); };
  return size(rule.verbs) *
         (size(rule.groups) * size(rule.resources) * std::max(1.0, size(rule.names)) + size(rule.urls));
}

// Calls visit(part) for each.
template <typename Visit>
void ForEachPart(const GrantedRule& rule, Visit visit) {
  for (const auto& group : rule.groups)
    for (const auto& resource : rule.resources)
      for (const auto& verb : rule.verbs) {
        if (rule.names.empty()) visit(GrantedRule{{verb}, {group}, {resource}, {}, {}});
        for (const auto& name : rule.names) visit(GrantedRule{{verb}, {group}, {resource}, {name}, {}});
      }
  for (const auto& url : rule.urls)
    for (const auto& verb : rule.verbs) visit(GrantedRule{{verb}, {}, {}, {}, {url}});
}

GrantedRule FirstPart(const GrantedRule& rule) {
  if (rule.groups.empty() || rule.resources.empty()) return {{rule.verbs[0]}, {}, {}, {}, {rule.urls[0]}};
  return {{rule.verbs[0]}, {rule.groups[0]}, {rule.resources[0]}, {}, {}};
}

// Rules, found by what they are about. Refers to them.
class HeldRights {
 public:
  explicit HeldRights(const std::vector<GrantedRule>& rules) {
    for (const auto& rule : rules) {
      if (IsWide(rule)) {
        wide_.push_back(&rule);
        continue;
      }
      for (const auto& group : rule.groups)
        for (const auto& resource : rule.resources) by_thing_[Thing(group, resource)].push_back(&rule);
      for (const auto& url : rule.urls) by_thing_[url].push_back(&rule);
    }
  }

  // Requires a part.
  bool Cover(const GrantedRule& part) const {
    const auto covers = [&](const GrantedRule* own) { return Covers(*own, part); };
    if (std::any_of(wide_.begin(), wide_.end(), covers)) return true;
    const auto found =
        by_thing_.find(part.urls.empty() ? Thing(part.groups[0], part.resources[0]) : part.urls[0]);
    return found != by_thing_.end() && std::any_of(found->second.begin(), found->second.end(), covers);
  }

 private:
  // About more than it names, or about so much that naming it all costs more than asking each time.
  static bool IsWide(const GrantedRule& rule) {
    constexpr std::size_t kFew = 1000;
    const auto wild = [](const std::string& text) { return text.find('*') != std::string::npos; };
    return std::any_of(rule.groups.begin(), rule.groups.end(), wild) ||
           std::any_of(rule.resources.begin(), rule.resources.end(), wild) ||
           std::any_of(rule.urls.begin(), rule.urls.end(), wild) ||
           rule.groups.size() * rule.resources.size() > kFew;
  }
  static std::string Thing(const std::string& group, const std::string& resource) {
    return group + '\0' + resource;
  }

  std::vector<const GrantedRule*> wide_;
  std::map<std::string, std::vector<const GrantedRule*>> by_thing_;
};

// Rules about the same thing become one with all their verbs.
std::vector<GrantedRule> Compact(const std::vector<GrantedRule>& rules) {
  std::vector<GrantedRule> compact;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const auto& rule : rules) {
    if (!rule.urls.empty()) {
      compact.push_back(rule);
      continue;
    }
    std::vector<std::string> key = {rule.groups[0], rule.resources[0]};
    key.insert(key.end(), rule.names.begin(), rule.names.end());
    const auto [place, added] = places.emplace(std::move(key), compact.size());
    if (added) {
      compact.push_back(rule);
    } else {
      compact[place->second].verbs.push_back(rule.verbs[0]);
    }
  }
  return compact;
}

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

std::string GrantedRule::ToString() const {
  std::string text = "{";
  const auto add = [&](std::string_view label, const std::vector<std::string>& list) {
    if (list.empty()) return;
    if (text.size() > 1) text += ", ";
    text += std::string(label) + ":" + QuotedList(list);
  };
  add("APIGroups", groups);
  add("Resources", resources);
  add("NonResourceURLs", urls);
  add("ResourceNames", names);
  add("Verbs", verbs);
  return text + "}";
}

std::vector<GrantedRule> GrantedRules(const json::Value& rules) {
  std::vector<GrantedRule> out;
  if (!rules.is_array()) return out;
  for (const auto& rule : rules.as_array())
    out.push_back({TextList(rule["verbs"]), TextList(rule["apiGroups"]), TextList(rule["resources"]),
                   TextList(rule["resourceNames"]), TextList(rule["nonResourceURLs"])});
  return out;
}

std::vector<GrantedRule> MissingRights(const std::vector<GrantedRule>& held,
                                       const std::vector<GrantedRule>& wanted) {
  // A rule of a few kilobytes can have billions of parts: beyond this nobody holds it. And nobody reads more
  // than this of what is missing.
  constexpr double kMaxParts = 200'000;
  constexpr std::size_t kMaxMissing = 1000;
  const HeldRights rights(held);
  std::vector<GrantedRule> missing;
  double parts = 0;
  for (const auto& rule : wanted) {
    if (missing.size() >= kMaxMissing) break;
    parts += PartCount(rule);
    if (parts > kMaxParts) {
      missing.push_back(FirstPart(rule));
      break;
    }
    ForEachPart(rule, [&](GrantedRule part) {
      if (missing.size() < kMaxMissing && !rights.Cover(part)) missing.push_back(std::move(part));
    });
  }
  return Compact(missing);
}

std::unique_ptr<AdmissionPlugin> NewRbacEscalationCheck(const Catalog& catalog,
                                                        const Authorizer& authorizer) {
  return std::make_unique<RbacEscalationCheck>(catalog, authorizer);
}

}  // namespace flyball::server
