#include "server/auth/impersonation.h"

#include "server/request/request_info.h"

namespace flyball::server {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";

Status Check(const User& user, const Authorizer& authorizer, std::string group, std::string resource,
             std::string subresource, std::string space, std::string name) {
  AuthorizationAttributes attributes;
  attributes.user = &user;
  attributes.verb = "impersonate";
  attributes.group = std::move(group);
  attributes.version = "v1";
  attributes.resource = std::move(resource);
  attributes.subresource = std::move(subresource);
  attributes.namespace_name = std::move(space);
  attributes.name = std::move(name);
  const auto verdict = authorizer.Authorize(attributes);
  if (verdict.decision == Decision::kAllow) return {};
  return Unexpected(ForbiddenError(attributes, verdict.reason));
}

Status CheckImpersonated(const User& user, const Authorizer& authorizer, const std::string& name) {
  if (!name.starts_with(kServiceAccountPrefix)) return Check(user, authorizer, "", "users", "", "", name);
  const auto rest = name.substr(kServiceAccountPrefix.size());
  const auto colon = rest.find(':');
  if (colon == std::string::npos) return Check(user, authorizer, "", "users", "", "", name);
  return Check(user, authorizer, "", "serviceaccounts", "", rest.substr(0, colon), rest.substr(colon + 1));
}

// The groups a name implies when none are asked for.
void AddImpliedGroups(User& target) {
  if (target.name.starts_with(kServiceAccountPrefix)) {
    const auto rest = target.name.substr(kServiceAccountPrefix.size());
    target.groups = {"system:serviceaccounts", "system:serviceaccounts:" + rest.substr(0, rest.find(':'))};
  }
}

}  // namespace

Result<User> Impersonate(const net::Request& request, User user, const Authorizer& authorizer) {
  const auto& headers = request.headers;
  User target;
  target.name = headers.Get("impersonate-user");
  target.uid = headers.Get("impersonate-uid");
  for (const auto group : headers.GetAll("impersonate-group")) target.groups.emplace_back(group);
  for (const auto& [name, value] : headers) {
    if (!name.starts_with(kExtraPrefix)) continue;
    std::string key;
    PercentDecode(std::string_view(name).substr(kExtraPrefix.size()), false, key);
    target.extra[key].push_back(value);
  }
  const bool asked =
      !target.name.empty() || !target.uid.empty() || !target.groups.empty() || !target.extra.empty();
  if (!asked) return user;
  if (target.name.empty())
    return Unexpected(Error(Reason::kInternalError, 500,
                            "Internal error occurred: requested impersonation without impersonating a user"));
  FLYBALL_TRY(CheckImpersonated(user, authorizer, target.name));
  for (const auto& group : target.groups) FLYBALL_TRY(Check(user, authorizer, "", "groups", "", "", group));
  if (!target.uid.empty())
    FLYBALL_TRY(Check(user, authorizer, "authentication.k8s.io", "uids", "", "", target.uid));
  for (const auto& [key, values] : target.extra)
    for (const auto& value : values)
      FLYBALL_TRY(Check(user, authorizer, "authentication.k8s.io", "userextras", key, "", value));
  if (target.groups.empty()) AddImpliedGroups(target);
  const bool anonymous = target.name == kAnonymousUser;
  const auto implied = anonymous ? kUnauthenticatedGroup : kAuthenticatedGroup;
  if (!target.InGroup(implied)) target.groups.emplace_back(implied);
  return target;
}

}  // namespace flyball::server
