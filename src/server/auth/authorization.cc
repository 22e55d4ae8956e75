#include "server/auth/authorization.h"

namespace flyball::server {
namespace {

json::Value AllRules(bool resource) {
  json::Object rule;
  rule.Set("verbs", json::Array{"*"});
  if (resource) {
    rule.Set("apiGroups", json::Array{"*"});
    rule.Set("resources", json::Array{"*"});
  } else {
    rule.Set("nonResourceURLs", json::Array{"*"});
  }
  return rule;
}

class AlwaysAllow final : public Authorizer {
 public:
  Verdict Authorize(const AuthorizationAttributes&) const override { return {Decision::kAllow, ""}; }
  RuleLists RulesFor(const User&, std::string_view) const override {
    return {{AllRules(true)}, {AllRules(false)}};
  }
};

class AlwaysDeny final : public Authorizer {
 public:
  Verdict Authorize(const AuthorizationAttributes&) const override {
    return {Decision::kNoOpinion, "Everything is forbidden."};
  }
  RuleLists RulesFor(const User&, std::string_view) const override { return {}; }
};

class Masters final : public Authorizer {
 public:
  Verdict Authorize(const AuthorizationAttributes& attributes) const override {
    if (attributes.user->InGroup(kMastersGroup)) return {Decision::kAllow, ""};
    return {};
  }
  RuleLists RulesFor(const User& user, std::string_view) const override {
    if (!user.InGroup(kMastersGroup)) return {};
    return {{AllRules(true)}, {AllRules(false)}};
  }
};

class Chain final : public Authorizer {
 public:
  explicit Chain(std::vector<std::unique_ptr<Authorizer>> modes) : modes_(std::move(modes)) {}

  Verdict Authorize(const AuthorizationAttributes& attributes) const override {
    std::string reasons;
    for (const auto& mode : modes_) {
      auto verdict = mode->Authorize(attributes);
      if (verdict.decision != Decision::kNoOpinion) return verdict;
      if (verdict.reason.empty()) continue;
      if (!reasons.empty()) reasons += ", ";
      reasons += verdict.reason;
    }
    return {Decision::kNoOpinion, reasons};
  }

  RuleLists RulesFor(const User& user, std::string_view namespace_name) const override {
    RuleLists all;
    for (const auto& mode : modes_) {
      auto lists = mode->RulesFor(user, namespace_name);
      for (auto& rule : lists.resource_rules) all.resource_rules.push_back(std::move(rule));
      for (auto& rule : lists.non_resource_rules) all.non_resource_rules.push_back(std::move(rule));
      all.incomplete |= lists.incomplete;
      if (all.evaluation_error.empty()) all.evaluation_error = lists.evaluation_error;
    }
    return all;
  }

 private:
  const std::vector<std::unique_ptr<Authorizer>> modes_;
};

}  // namespace

std::unique_ptr<Authorizer> NewAlwaysAllowAuthorizer() {
  return std::make_unique<AlwaysAllow>();
}
std::unique_ptr<Authorizer> NewAlwaysDenyAuthorizer() {
  return std::make_unique<AlwaysDeny>();
}
std::unique_ptr<Authorizer> NewMastersAuthorizer() {
  return std::make_unique<Masters>();
}
std::unique_ptr<Authorizer> NewAuthorizerChain(std::vector<std::unique_ptr<Authorizer>> modes) {
  return std::make_unique<Chain>(std::move(modes));
}

Error ForbiddenError(const AuthorizationAttributes& a, std::string_view reason) {
  const std::string tail = reason.empty() ? "" : ": " + std::string(reason);
  if (!a.is_resource)
    return Error(
        Reason::kForbidden, 403,
        "forbidden: User \"" + a.user->name + "\" cannot " + a.verb + " path \"" + a.path + "\"" + tail,
        {.present = true});
  const std::string what = a.subresource.empty() ? a.resource : a.resource + "/" + a.subresource;
  const std::string group_resource = a.group.empty() ? a.resource : a.resource + "." + a.group;
  const std::string scope =
      a.namespace_name.empty() ? " at the cluster scope" : " in the namespace \"" + a.namespace_name + "\"";
  const std::string named = a.name.empty() ? group_resource : group_resource + " \"" + a.name + "\"";
  return Error(Reason::kForbidden, 403,
               named + " is forbidden: User \"" + a.user->name + "\" cannot " + a.verb + " resource \"" +
                   what + "\" in API group \"" + a.group + "\"" + scope + tail,
               {.name = a.name, .group = a.group, .kind = a.resource});
}

}  // namespace flyball::server
