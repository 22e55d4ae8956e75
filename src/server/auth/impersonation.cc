#include "server/auth/impersonation.h"

#include <optional>
#include <vector>

#include "api/rules/format.h"
#include "api/schema/feature_gates.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "server/request/request_info.h"

namespace flyball::server {
namespace {

constexpr std::string_view kExtraPrefix = "impersonate-extra-";

constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kNodeNameExtra = "authentication.kubernetes.io/node-name";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";

// Who asks, whom to ask, and the verb: "impersonate", or "impersonate:MODE" for constrained impersonation.
struct Impersonator {
  const User& user;
  const Authorizer& authorizer;
  Executor& resume;
  std::string verb;
  std::string group;  // of users, groups and service accounts
};

Task<Status> Ask(const Impersonator& by, AuthorizationAttributes attributes) {
  const auto verdict = co_await by.authorizer.Authorize(attributes, by.resume);
  if (verdict.decision == Decision::kAllow) co_return Status();
  co_return Unexpected(ForbiddenError(attributes, verdict.reason));
}

Task<Status> Check(const Impersonator& by, std::string group, std::string resource, std::string subresource,
                   std::string space, std::string name) {
  AuthorizationAttributes attributes;
  attributes.user = &by.user;
  attributes.verb = by.verb;
  attributes.group = std::move(group);
  attributes.version = "v1";
  attributes.resource = std::move(resource);
  attributes.subresource = std::move(subresource);
  attributes.namespace_name = std::move(space);
  attributes.name = std::move(name);
  return Ask(by, std::move(attributes));
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

bool IsNode(std::string_view user) {
  return user.starts_with(kNodePrefix) && user.size() > kNodePrefix.size();
}

Task<Status> CheckName(const Impersonator& by, const std::string& name) {
  if (const auto account = AccountOf(name))
    return Check(by, by.group, "serviceaccounts", "", account->space, account->name);
  return Check(by, by.group, "users", "", "", name);
}

// May this user, with its groups, UID and extra values, be impersonated. One question for each of them.
Task<Status> CheckTarget(const Impersonator& by, const User& target) {
  FLYBALL_CO_TRY(co_await CheckName(by, target.name));
  for (const auto& group : target.groups)
    FLYBALL_CO_TRY(co_await Check(by, by.group, "groups", "", "", group));
  if (!target.uid.empty())
    FLYBALL_CO_TRY(co_await Check(by, std::string(kAuthenticationGroup), "uids", "", "", target.uid));
  for (const auto& [key, values] : target.extra)
    for (const auto& value : values)
      FLYBALL_CO_TRY(co_await Check(by, std::string(kAuthenticationGroup), "userextras", key, "", value));
  co_return Status();
}

bool OnlyNamed(const User& target) {
  return target.uid.empty() && target.groups.empty() && target.extra.empty();
}

// A service account whose token says that it runs on this very node.
bool RunsOn(const User& user, std::string_view node_user) {
  const auto found = user.extra.find(std::string(kNodeNameExtra));
  return AccountOf(user.name) && found != user.extra.end() && found->second.size() == 1 &&
         std::string(kNodePrefix) + found->second.front() == node_user;
}

// The ways of constrained impersonation that fit the user that is wanted, the narrowest first.
std::vector<std::string> ModesFor(const User& user, const User& target) {
  if (IsNode(target.name)) {
    if (!OnlyNamed(target)) return {};
    return RunsOn(user, target.name) ? std::vector<std::string>{"associated-node", "arbitrary-node"}
                                     : std::vector<std::string>{"arbitrary-node"};
  }
  if (AccountOf(target.name))
    return OnlyNamed(target) ? std::vector<std::string>{"serviceaccount"} : std::vector<std::string>{};
  return {"user-info"};
}

// Constrained impersonation needs two rights: to do what is asked while impersonating in this mode, and to
// impersonate the user in this mode.
Task<Status> CheckMode(const Impersonator& by, const std::string& mode, const User& target,
                       AuthorizationAttributes asked) {
  asked.user = &by.user;
  asked.verb = "impersonate-on:" + mode + ":" + asked.verb;
  FLYBALL_CO_TRY(co_await Ask(by, std::move(asked)));
  if (!IsNode(target.name)) co_return co_await CheckTarget(by, target);
  const std::string node = mode == "associated-node" ? "*" : target.name.substr(kNodePrefix.size());
  co_return co_await Check(by, by.group, "nodes", "", "", node);
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

User TargetOf(const net::Request& request) {
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
  return target;
}

// A list of texts as Go's %#v shows it.
std::string GoTexts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + api::GoQuote(text);
  return "[]string{" + out + "}";
}

std::string GoUser(const User& user) {
  std::string extra;
  for (const auto& [key, values] : user.extra)
    extra += (extra.empty() ? "" : ", ") + api::GoQuote(key) + ":" + GoTexts(values);
  return "&user.DefaultInfo{Name:" + api::GoQuote(user.name) + ", UID:" + api::GoQuote(user.uid) +
         ", Groups:" + (user.groups.empty() ? "[]string(nil)" : GoTexts(user.groups)) +
         ", Extra:map[string][]string" + (user.extra.empty() ? "(nil)" : "{" + extra + "}") + "}";
}

// The first refusal counts if no mode allows it. True: in a constrained mode.
Task<Result<bool>> MayImpersonate(const User& user, const User& target, const Authorizer& authorizer,
                                  const AuthorizationAttributes& asked, Executor& resume) {
  std::optional<Error> first;
  if (api::GateEnabled("ConstrainedImpersonation")) {
    for (const std::string& mode : ModesFor(user, target)) {
      const Impersonator by{user, authorizer, resume, "impersonate:" + mode,
                            std::string(kAuthenticationGroup)};
      const Status allowed = co_await CheckMode(by, mode, target, asked);
      if (allowed) co_return true;
      if (!first) first = allowed.error();
    }
  }
  const Impersonator by{user, authorizer, resume, "impersonate", ""};
  const Status allowed = co_await CheckTarget(by, target);
  if (allowed) co_return false;
  co_return Unexpected(first ? *first : allowed.error());
}

}  // namespace

Task<Result<User>> Impersonate(const net::Request& request, User user, const Authorizer& authorizer,
                               AuthorizationAttributes asked, Executor& resume) {
  User target = TargetOf(request);
  const bool wanted =
      !target.name.empty() || !target.uid.empty() || !target.groups.empty() || !target.extra.empty();
  if (!wanted) co_return user;
  if (target.name.empty())
    co_return Unexpected(BadRequest("requested " + GoUser(target) + " without impersonating a user name"));
  FLYBALL_CO_ASSIGN(const bool constrained, co_await MayImpersonate(user, target, authorizer, asked, resume));
  if (constrained && IsNode(target.name)) target.groups = {"system:nodes"};
  AddImpliedGroups(target);
  co_return target;
}

}  // namespace flyball::server
