#include "server/auth/request_header.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "server/request/request_info.h"

namespace flyball::server {
namespace {

// Header names as this server has them: lower case, without blanks around them.
std::vector<std::string> HeaderNames(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names) {
    const auto first = name.find_first_not_of(" \t");
    if (first != std::string::npos)
      out.push_back(LowerCase(name.substr(first, name.find_last_not_of(" \t") - first + 1)));
  }
  return out;
}

class RequestHeaderAuthenticator final : public Authenticator {
 public:
  RequestHeaderAuthenticator(const RequestHeaderOptions& options,
                             std::shared_ptr<const TrustedAuthorities> proxies, const Clock& clock)
      : names_(HeaderNames(options.username_headers)),
        uids_(HeaderNames(options.uid_headers)),
        groups_(HeaderNames(options.group_headers)),
        extras_(HeaderNames(options.extra_header_prefixes)),
        allowed_(options.allowed_names),
        proxies_(std::move(proxies)),
        clock_(clock) {}

  Result<std::optional<User>> Authenticate(const net::Request& request) override {
    const auto& certificates = request.peer.certificates;
    // Who is no proxy may be a user: the next method's to say.
    if (!certificates || !proxies_->Get()->VerifyClient(*certificates, clock_.Now()))
      return std::optional<User>();
    const auto& name = certificates->common_name();
    if (!allowed_.empty() && std::find(allowed_.begin(), allowed_.end(), name) == allowed_.end())
      return Unexpected(
          Error(Reason::kUnauthorized, "x509: subject with cn=" + name + " is not in the allowed list"));
    User user;
    user.name = First(request, names_);
    if (user.name.empty()) return std::optional<User>();
    user.uid = First(request, uids_);
    for (const auto& header : groups_)
      for (const auto value : request.headers.GetAll(header))
        if (!value.empty()) user.groups.emplace_back(value);
    for (const auto& prefix : extras_) AddExtra(request, prefix, user);
    return std::optional(std::move(user));
  }

 private:
  static std::string First(const net::Request& request, const std::vector<std::string>& headers) {
    for (const auto& header : headers)
      if (const auto value = request.headers.Get(header); !value.empty()) return std::string(value);
    return {};
  }

  static void AddExtra(const net::Request& request, const std::string& prefix, User& user) {
    for (const auto& [name, value] : request.headers) {
      if (!name.starts_with(prefix)) continue;
      std::string key;
      PercentDecode(std::string_view(name).substr(prefix.size()), false, key);
      user.extra[key].push_back(value);
    }
  }

  const std::vector<std::string> names_, uids_, groups_, extras_, allowed_;
  const std::shared_ptr<const TrustedAuthorities> proxies_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Authenticator> NewRequestHeaderAuthenticator(
    const RequestHeaderOptions& options, std::shared_ptr<const TrustedAuthorities> proxies,
    const Clock& clock) {
  return std::make_unique<RequestHeaderAuthenticator>(options, std::move(proxies), clock);
}

}  // namespace flyball::server
