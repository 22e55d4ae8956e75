// Authorisation: may this user do this.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/error.h"
#include "json/value.h"
#include "server/request/user.h"

namespace flyball::server {

struct AuthorizationAttributes {
  const User* user = nullptr;
  std::string verb;
  bool is_resource = true;
  std::string namespace_name, group, version, resource, subresource, name;
  std::string path;  // if not a resource
};

enum class Decision : std::uint8_t { kNoOpinion, kAllow, kDeny };

struct Verdict {
  Decision decision = Decision::kNoOpinion;
  std::string reason;
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
  virtual Verdict Authorize(const AuthorizationAttributes& attributes) const = 0;
  virtual RuleLists RulesFor(const User& user, std::string_view namespace_name) const = 0;
};

std::unique_ptr<Authorizer> NewAlwaysAllowAuthorizer();
std::unique_ptr<Authorizer> NewAlwaysDenyAuthorizer();
// system:masters may do everything, before any other mode is asked (upstream: privileged groups).
std::unique_ptr<Authorizer> NewMastersAuthorizer();
// The first opinion wins; none is a denial.
std::unique_ptr<Authorizer> NewAuthorizerChain(std::vector<std::unique_ptr<Authorizer>> modes);

// 403: `pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`.
Error ForbiddenError(const AuthorizationAttributes& attributes, std::string_view reason);

}  // namespace flyball::server
