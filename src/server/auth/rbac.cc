#include "server/auth/rbac.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/select/selector.h"
#include "base/run/mutex.h"

namespace flyball::server {
namespace {

struct PolicyRule {
  std::vector<std::string> verbs, groups, resources, names, urls;
  json::Value value;  // as reviews show it
};
using Rules = std::vector<PolicyRule>;

struct Subject {
  enum class Kind { kUser, kGroup } kind;
  std::string name;   // of a service account: its user name
  std::string shown;  // `ServiceAccount "bob/ns"`
};

struct Binding {
  std::string namespace_name;  // "": everywhere
  std::string name, role_kind, role_name;
  std::vector<Subject> subjects;
  std::shared_ptr<const Rules> rules;
};

std::vector<std::string> RuleStrings(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

std::shared_ptr<const Rules> CompileRules(const json::Value& role) {
  auto rules = std::make_shared<Rules>();
  if (const auto& list = role["rules"]; list.is_array())
    for (const auto& rule : list.as_array())
      rules->push_back({RuleStrings(rule["verbs"]), RuleStrings(rule["apiGroups"]),
                        RuleStrings(rule["resources"]), RuleStrings(rule["resourceNames"]),
                        RuleStrings(rule["nonResourceURLs"]), rule});
  return rules;
}

void AppendSelected(const json::Value& selector, const std::vector<ObjectPtr>& roles, Rules& rules) {
  const auto parsed = api::LabelSelector::FromObject(selector);
  if (!parsed) return;
  for (const auto& role : roles) {
    if (!parsed->Matches(role->labels())) continue;
    const auto more = CompileRules(role->ToValue());
    rules.insert(rules.end(), more->begin(), more->end());
  }
}

// An aggregated role has the rules of the roles it selects, whether or not a controller has written them into
// it yet.
std::shared_ptr<const Rules> CompileClusterRole(const json::Value& role, const std::vector<ObjectPtr>& all) {
  const auto own = CompileRules(role);
  const auto& selectors = role["aggregationRule"]["clusterRoleSelectors"];
  if (!selectors.is_array()) return own;
  auto rules = std::make_shared<Rules>(*own);
  for (const auto& selector : selectors.as_array()) AppendSelected(selector, all, *rules);
  return rules;
}

std::vector<Subject> CompileSubjects(const json::Value& binding, std::string_view binding_namespace) {
  std::vector<Subject> subjects;
  const auto& list = binding["subjects"];
  if (!list.is_array()) return subjects;
  for (const auto& subject : list.as_array()) {
    const auto kind = subject["kind"].string_or("");
    std::string name(subject["name"].string_or(""));
    const std::string shown = std::string(kind) + " \"" + name;
    if (kind == "User") subjects.push_back({Subject::Kind::kUser, name, shown + "\""});
    if (kind == "Group") subjects.push_back({Subject::Kind::kGroup, name, shown + "\""});
    if (kind == "ServiceAccount") {
      std::string space(subject["namespace"].string_or(""));
      if (space.empty()) space = binding_namespace;
      subjects.push_back({Subject::Kind::kUser, std::string(kServiceAccountPrefix) + space + ":" + name,
                          shown + "/" + space + "\""});
    }
  }
  return subjects;
}

bool Has(const std::vector<std::string>& list, std::string_view item) {
  return std::any_of(list.begin(), list.end(), [&](const auto& i) { return i == "*" || i == item; });
}

bool HasResource(const std::vector<std::string>& list, const AuthorizationAttributes& a) {
  const std::string full = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  return std::any_of(list.begin(), list.end(), [&](const std::string& i) {
    return i == "*" || i == full || (!a.subresource.empty() && i == "*/" + a.subresource);
  });
}

bool HasUrl(const std::vector<std::string>& list, std::string_view path) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view i) {
    return i == path || (i.ends_with('*') && path.starts_with(i.substr(0, i.size() - 1)));
  });
}

bool RuleAllows(const PolicyRule& rule, const AuthorizationAttributes& a) {
  if (!Has(rule.verbs, a.verb)) return false;
  if (!a.is_resource) return HasUrl(rule.urls, a.path);
  if (!Has(rule.groups, a.group) || !HasResource(rule.resources, a)) return false;
  return rule.names.empty() || std::find(rule.names.begin(), rule.names.end(), a.name) != rule.names.end();
}

// The subject of the binding that is this user; null if none is.
const Subject* SubjectFor(const Binding& binding, const User& user) {
  for (const auto& s : binding.subjects)
    if (s.kind == Subject::Kind::kUser ? s.name == user.name : user.InGroup(s.name)) return &s;
  return nullptr;
}

class RbacAuthorizer final : public LocalAuthorizer {
 public:
  explicit RbacAuthorizer(const Catalog& catalog) {
    constexpr std::array kPlurals = {"clusterroles", "clusterrolebindings", "roles", "rolebindings"};
    for (std::size_t i = 0; i < kPlurals.size(); ++i)
      caches_[i] = catalog.Find("rbac.authorization.k8s.io", "v1", kPlurals[i])->cache;
  }

  Verdict Decide(const AuthorizationAttributes& a) const override {
    const auto policy = CurrentPolicy();
    for (const auto& binding : *policy) {
      if (!binding.namespace_name.empty() && (!a.is_resource || binding.namespace_name != a.namespace_name))
        continue;
      const auto* subject = SubjectFor(binding, *a.user);
      if (!subject) continue;
      for (const auto& rule : *binding.rules)
        if (RuleAllows(rule, a)) return {Decision::kAllow, "RBAC: allowed by " + Describe(binding, *subject)};
    }
    return {};
  }

  RuleLists RulesFor(const User& user, std::string_view namespace_name) const override {
    RuleLists lists;
    const auto policy = CurrentPolicy();
    for (const auto& binding : *policy) {
      if (!binding.namespace_name.empty() && binding.namespace_name != namespace_name) continue;
      if (!SubjectFor(binding, user)) continue;
      for (const auto& rule : *binding.rules)
        (rule.urls.empty() ? lists.resource_rules : lists.non_resource_rules).push_back(rule.value);
    }
    return lists;
  }

 private:
  enum { kClusterRoles, kClusterRoleBindings, kRoles, kRoleBindings };
  using Policy = std::vector<Binding>;
  using Versions = std::array<store::Revision, 4>;

  static std::string Describe(const Binding& b, const Subject& subject) {
    const bool cluster = b.namespace_name.empty();
    std::string text = cluster ? "ClusterRoleBinding \"" + b.name + "\""
                               : "RoleBinding \"" + b.name + "/" + b.namespace_name + "\"";
    text += " of " + b.role_kind + " \"" + b.role_name + "\"";
    text += " to " + subject.shown;
    return text;
  }

  // Compiled once for each state of the four resources.
  std::shared_ptr<const Policy> CurrentPolicy() const {
    Versions versions{};
    for (std::size_t i = 0; i < caches_.size(); ++i) versions[i] = caches_[i]->last_change();
    MutexLock lock(mu_);
    if (!policy_ || versions != versions_) {
      policy_ = Compile();
      versions_ = versions;
    }
    return policy_;
  }

  std::shared_ptr<const Policy> Compile() const {
    std::map<std::string, std::shared_ptr<const Rules>> cluster_roles, roles;
    const auto stored = caches_[kClusterRoles]->List({}).objects;
    for (const auto& object : stored)
      cluster_roles[object->name()] = CompileClusterRole(object->ToValue(), stored);
    for (const auto& object : caches_[kRoles]->List({}).objects)
      roles[object->namespace_name() + "/" + object->name()] = CompileRules(object->ToValue());
    auto policy = std::make_shared<Policy>();
    for (const int which : {kClusterRoleBindings, kRoleBindings})
      for (const auto& object : caches_[static_cast<std::size_t>(which)]->List({}).objects) {
        const auto value = object->ToValue();
        Binding binding{object->namespace_name(),
                        object->name(),
                        std::string(value["roleRef"]["kind"].string_or("")),
                        std::string(value["roleRef"]["name"].string_or("")),
                        CompileSubjects(value, object->namespace_name()),
                        nullptr};
        binding.rules = binding.role_kind == "ClusterRole"
                            ? cluster_roles[binding.role_name]
                            : roles[binding.namespace_name + "/" + binding.role_name];
        if (binding.rules) policy->push_back(std::move(binding));
      }
    return policy;
  }

  std::array<std::shared_ptr<ResourceCache>, 4> caches_;
  mutable Mutex mu_;
  mutable Versions versions_ FLYBALL_GUARDED_BY(mu_){};
  mutable std::shared_ptr<const Policy> policy_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

json::Array EffectiveRules(const json::Value& cluster_role, const std::vector<ObjectPtr>& all_cluster_roles) {
  const auto rules = CompileClusterRole(cluster_role, all_cluster_roles);
  json::Array out;
  for (const auto& rule : *rules) out.push_back(rule.value);
  return out;
}

std::unique_ptr<Authorizer> NewRbacAuthorizer(const Catalog& catalog) {
  return std::make_unique<RbacAuthorizer>(catalog);
}

}  // namespace flyball::server
