#include "server/auth/impersonation.h"

#include "server/request/request_info.h"

namespace flyball::server {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";

// Who asks, and whom to ask.
struct Impersonator {
  const User& user;
  const Authorizer& authorizer;
  Executor& resume;
};

Task<Status> Check(const Impersonator& by, std::string group, std::string resource, std::string subresource,
                   std::string space, std::string name) {
  AuthorizationAttributes attributes;
  attributes.user = &by.user;
  attributes.verb = "impersonate";
  attributes.group = std::move(group);
  attributes.version = "v1";
  attributes.resource = std::move(resource);
  attributes.subresource = std::move(subresource);
  attributes.namespace_name = std::move(space);
  attributes.name = std::move(name);
  const auto verdict = co_await by.authorizer.Authorize(attributes, by.resume);
  if (verdict.decision == Decision::kAllow) co_return Status();
  co_return Unexpected(ForbiddenError(attributes, verdict.reason));
}

Task<Status> CheckImpersonated(const Impersonator& by, const std::string& name) {
  if (!name.starts_with(kServiceAccountPrefix)) return Check(by, "", "users", "", "", name);
  const auto rest = name.substr(kServiceAccountPrefix.size());
  const auto colon = rest.find(':');
  if (colon == std::string::npos) return Check(by, "", "users", "", "", name);
  return Check(by, "", "serviceaccounts", "", rest.substr(0, colon), rest.substr(colon + 1));
}

// The groups a name implies when none are asked for.
void AddImpliedGroups(User& target) {
  if (target.name.starts_with(kServiceAccountPrefix)) {
    const auto rest = target.name.substr(kServiceAccountPrefix.size());
    target.groups = {"system:serviceaccounts", "system:serviceaccounts:" + rest.substr(0, rest.find(':'))};
  }
}

}  // namespace

Task<Result<User>> Impersonate(const net::Request& request, User user, const Authorizer& authorizer,
                               Executor& resume) {
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
  if (!asked) co_return user;
  if (target.name.empty())
    co_return Unexpected(
        Error(Reason::kInternalError, 500,
              "Internal error occurred: requested impersonation without impersonating a user"));
  const Impersonator by{user, authorizer, resume};
  FLYBALL_CO_TRY(co_await CheckImpersonated(by, target.name));
  for (const auto& group : target.groups) FLYBALL_CO_TRY(co_await Check(by, "", "groups", "", "", group));
  if (!target.uid.empty())
    FLYBALL_CO_TRY(co_await Check(by, "authentication.k8s.io", "uids", "", "", target.uid));
  for (const auto& [key, values] : target.extra)
    for (const auto& value : values)
      FLYBALL_CO_TRY(co_await Check(by, "authentication.k8s.io", "userextras", key, "", value));
  if (target.groups.empty()) AddImpliedGroups(target);
  const bool anonymous = target.name == kAnonymousUser;
  const auto implied = anonymous ? kUnauthenticatedGroup : kAuthenticatedGroup;
  if (!target.InGroup(implied)) target.groups.emplace_back(implied);
  co_return target;
}

}  // namespace flyball::server
