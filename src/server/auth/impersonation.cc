#include "server/auth/impersonation.h"

#include <optional>

#include "api/rules/format.h"
#include "base/values/ascii.h"
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

struct AccountName {
  std::string space, name;
};

// Of a user name that a service account could have; anything else is a user's, whatever it begins with
// (upstream: serviceaccount.SplitUsername).
std::optional<AccountName> AccountOf(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return std::nullopt;
  const auto parts = SplitText(user.substr(kServiceAccountPrefix.size()), ':');
  if (parts.size() != 2 || !api::DnsLabelProblems(parts[0]).empty() ||
      !api::DnsSubdomainProblems(parts[1]).empty())
    return std::nullopt;
  return AccountName{parts[0], parts[1]};
}

Task<Status> CheckImpersonated(const Impersonator& by, const std::string& name) {
  const auto account = AccountOf(name);
  if (!account) return Check(by, "", "users", "", "", name);
  return Check(by, "", "serviceaccounts", "", account->space, account->name);
}

// The groups a name implies. Those of service accounts only if none are asked for; and nobody comes to be
// authenticated who asks not to be.
void AddImpliedGroups(User& target) {
  const auto account = AccountOf(target.name);
  if (account && target.groups.empty())
    target.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->space};
  const bool unauthenticated = target.InGroup(kUnauthenticatedGroup);
  if (target.name == kAnonymousUser) {
    if (!unauthenticated) target.groups.emplace_back(kUnauthenticatedGroup);
  } else if (!unauthenticated && !target.InGroup(kAuthenticatedGroup)) {
    target.groups.emplace_back(kAuthenticatedGroup);
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
  AddImpliedGroups(target);
  co_return target;
}

}  // namespace flyball::server
