// Authorisation: may this user do this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/select/selector.h"
#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/task.h"
#include "base/values/error.h"
#include "json/value.h"
#include "server/request/user.h"

namespace flyball::server {

struct AuthorizationAttributes {
  const User* user = nullptr;
  std::string verb;
  bool is_resource = true;
  std::string namespace_name, group, version, resource, subresource, name;
  std::string path;                         // if not a resource
  std::vector<api::FieldTerm> field_terms;  // of the field selector, all of which hold
  std::string label_selector;               // as text
};

enum class Decision : std::uint8_t { kNoOpinion, kAllow, kDeny };

struct Verdict {
  Decision decision = Decision::kNoOpinion;
  std::string reason;
  // Why the question could not be answered properly. Only an Allow makes up for it: without one the request
  // fails with this error rather than with Forbidden.
  std::optional<Error> error{};
};

// What SelfSubjectRulesReview shows.
struct RuleLists {
  json::Array resource_rules, non_resource_rules;
  bool incomplete = false;
  std::string evaluation_error;
};

// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // May wait for another server; the caller resumes on `resume`. Requires that the attributes live until
  // then.
  virtual Task<Verdict> Authorize(const AuthorizationAttributes& attributes, Executor& resume) const = 0;
  virtual RuleLists RulesFor(const User& user, std::string_view namespace_name) const = 0;
};

// An authorizer that decides at once, from memory.
class LocalAuthorizer : public Authorizer {
 public:
  virtual Verdict Decide(const AuthorizationAttributes& attributes) const = 0;
  Task<Verdict> Authorize(const AuthorizationAttributes& attributes, Executor& resume) const final;
};

std::unique_ptr<Authorizer> NewAlwaysAllowAuthorizer();
std::unique_ptr<Authorizer> NewAlwaysDenyAuthorizer();

struct NamedAuthorizer {
  std::string type, name;  // "RBAC", "rbac"; a webhook's name is the user's choice
  std::shared_ptr<const Authorizer> authorizer;
};
// Asks system:masters first (they may do everything; upstream: privileged groups), then each of the modes in
// order. The first opinion wins; none is a denial. Counts decisions in
// apiserver_authorization_decisions_total.
std::unique_ptr<Authorizer> NewAuthorizerChain(const std::vector<NamedAuthorizer>& modes, Metrics& metrics);

// 403: `pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`.
Error ForbiddenError(const AuthorizationAttributes& attributes, std::string_view reason);

}  // namespace flyball::server
