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

class AlwaysAllow final : public LocalAuthorizer {
 public:
  Verdict Decide(const AuthorizationAttributes&) const override { return {Decision::kAllow, ""}; }
  RuleLists RulesFor(const User&, std::string_view) const override {
    return {{AllRules(true)}, {AllRules(false)}};
  }
};

class AlwaysDeny final : public LocalAuthorizer {
 public:
  Verdict Decide(const AuthorizationAttributes&) const override {
    return {Decision::kNoOpinion, "Everything is forbidden."};
  }
  RuleLists RulesFor(const User&, std::string_view) const override { return {}; }
};

class Masters final : public LocalAuthorizer {
 public:
  Verdict Decide(const AuthorizationAttributes& attributes) const override {
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
  Chain(const std::vector<NamedAuthorizer>& modes, Metrics& metrics) {
    links_.push_back(
        Link({"", "kubernetes.io/system-privileged-group", std::make_shared<Masters>()}, metrics));
    for (const auto& mode : modes) links_.push_back(Link(mode, metrics));
  }

  Task<Verdict> Authorize(const AuthorizationAttributes& attributes, Executor& resume) const override {
    Verdict all;
    for (const auto& link : links_) {
      Verdict verdict;
      if (link.local)
        verdict = link.local->Decide(attributes);
      else
        verdict = co_await link.authorizer->Authorize(attributes, resume);
      link.Count(verdict.decision);
      if (verdict.decision != Decision::kNoOpinion) co_return verdict;
      if (verdict.error && !all.error) all.error = std::move(verdict.error);
      if (verdict.reason.empty()) continue;
      if (!all.reason.empty()) all.reason += "\n";
      all.reason += link.name + ": " + verdict.reason;
    }
    co_return all;
  }

  RuleLists RulesFor(const User& user, std::string_view namespace_name) const override {
    RuleLists all;
    for (const auto& link : links_) {
      auto lists = link.authorizer->RulesFor(user, namespace_name);
      for (auto& rule : lists.resource_rules) all.resource_rules.push_back(std::move(rule));
      for (auto& rule : lists.non_resource_rules) all.non_resource_rules.push_back(std::move(rule));
      all.incomplete |= lists.incomplete;
      if (all.evaluation_error.empty()) all.evaluation_error = lists.evaluation_error;
    }
    return all;
  }

 private:
  struct Link {
    Link(const NamedAuthorizer& mode, Metrics& metrics)
        : name(mode.name),
          authorizer(mode.authorizer),
          local(dynamic_cast<const LocalAuthorizer*>(authorizer.get())) {
      if (mode.type.empty()) return;
      const auto counter = [&](const char* decision) {
        return &metrics.GetCounter("apiserver_authorization_decisions_total",
                                   "Total number of terminal decisions made by an authorizer split by "
                                   "authorizer type, name, and decision.",
                                   {{"type", mode.type}, {"name", mode.name}, {"decision", decision}});
      };
      allowed = counter("allowed");
      denied = counter("denied");
    }

    void Count(Decision decision) const {
      if (decision == Decision::kAllow && allowed) allowed->Add();
      if (decision == Decision::kDeny && denied) denied->Add();
    }

    std::string name;
    std::shared_ptr<const Authorizer> authorizer;
    const LocalAuthorizer* local;  // null: it may have to be waited for
    Counter *allowed = nullptr, *denied = nullptr;
  };

  std::vector<Link> links_;
};

}  // namespace

Task<Verdict> LocalAuthorizer::Authorize(const AuthorizationAttributes& attributes, Executor&) const {
  co_return Decide(attributes);
}

std::unique_ptr<Authorizer> NewAlwaysAllowAuthorizer() {
  return std::make_unique<AlwaysAllow>();
}
std::unique_ptr<Authorizer> NewAlwaysDenyAuthorizer() {
  return std::make_unique<AlwaysDeny>();
}
std::unique_ptr<Authorizer> NewAuthorizerChain(const std::vector<NamedAuthorizer>& modes, Metrics& metrics) {
  return std::make_unique<Chain>(modes, metrics);
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
