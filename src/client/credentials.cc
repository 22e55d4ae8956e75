#include "client/credentials.h"

#include <fstream>
#include <sstream>

#include "api/time.h"
#include "base/mutex.h"
#include "client/subprocess.h"
#include "json/json.h"
#include "net/pki.h"

namespace flyball {
namespace {

constexpr Duration kTokenFileAge = std::chrono::minutes(1);
// A credential is replaced this long before it expires, so that it does not expire on its way.
constexpr Duration kExpirySlack = std::chrono::seconds(10);

std::string Trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

class TokenFromFile final : public Credentials {
 public:
  TokenFromFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  Status Authorize(net::Headers& headers) override {
    MutexLock lock(mu_);
    const SteadyTime now = clock_.Steady();
    if (token_.empty() || now - read_at_ > kTokenFileAge) {
      auto text = ReadFile(path_);
      // A file that is being replaced may be missing for a moment: the token we have is still good.
      if (text)
        token_ = Trim(std::move(*text));
      else if (token_.empty())
        return Unexpected(text.error());
      read_at_ = now;
    }
    headers.Set("authorization", "Bearer " + token_);
    return {};
  }
  void Invalidate() override {
    MutexLock lock(mu_);
    token_.clear();
  }

 private:
  const std::string path_;
  const Clock& clock_;
  Mutex mu_;
  std::string token_ FLYBALL_GUARDED_BY(mu_);
  SteadyTime read_at_ FLYBALL_GUARDED_BY(mu_){};
};

class FixedHeader final : public Credentials {
 public:
  explicit FixedHeader(std::string value) : value_(std::move(value)) {}
  Status Authorize(net::Headers& headers) override {
    headers.Set("authorization", value_);
    return {};
  }

 private:
  const std::string value_;
};

class ExecToken final : public Credentials {
 public:
  ExecToken(ExecPlugin plugin, std::optional<ExecCredential> first, const Clock& clock)
      : plugin_(std::move(plugin)), clock_(clock), current_(std::move(first)) {}

  Status Authorize(net::Headers& headers) override {
    MutexLock lock(mu_);
    const bool expired = current_ && current_->expires && clock_.Now() + kExpirySlack >= *current_->expires;
    if (!current_ || expired) {
      auto fresh = RunExecPlugin(plugin_);
      if (!fresh) return Unexpected(fresh.error());
      current_ = std::move(*fresh);
    }
    if (!current_->token.empty()) headers.Set("authorization", "Bearer " + current_->token);
    return {};
  }
  void Invalidate() override {
    MutexLock lock(mu_);
    current_.reset();
  }

 private:
  const ExecPlugin plugin_;
  const Clock& clock_;
  Mutex mu_;
  std::optional<ExecCredential> current_ FLYBALL_GUARDED_BY(mu_);
};

std::string ExecInfo(const ExecPlugin& plugin) {
  json::Value info(json::Object{{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}});
  info["spec"]["interactive"] = false;
  if (!plugin.cluster.is_null()) info["spec"]["cluster"] = plugin.cluster;
  return json::Write(info);
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Unexpected(Error(Reason::kNotFound, "cannot read " + path));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::shared_ptr<Credentials> TokenFile(std::string path, const Clock& clock) {
  return std::make_shared<TokenFromFile>(std::move(path), clock);
}

std::shared_ptr<Credentials> BasicAuth(const std::string& user, const std::string& password) {
  return std::make_shared<FixedHeader>("Basic " + net::Base64Encode(user + ":" + password));
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin) {
  auto env = plugin.env;
  env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(plugin));
  auto output = RunProcess(plugin.command, plugin.args, env);
  if (!output) {
    const std::string hint = plugin.install_hint.empty() ? "" : "\n" + plugin.install_hint;
    return Unexpected(Error(output.error().reason(), output.error().message() + hint));
  }
  if (output->exit_code != 0)
    return Unexpected(Error(Reason::kUnauthorized, "credential plugin " + plugin.command + " ended with " +
                                                       std::to_string(output->exit_code)));
  auto parsed = json::Parse(output->out);
  if (!parsed) return Unexpected(BadRequest("credential plugin " + plugin.command + " did not print JSON"));
  const json::Value& status = std::as_const(*parsed)["status"];
  ExecCredential credential{std::string(status["token"].string_or("")),
                            std::string(status["clientCertificateData"].string_or("")),
                            std::string(status["clientKeyData"].string_or("")),
                            {}};
  if (credential.token.empty() && credential.certificate_pem.empty())
    return Unexpected(
        BadRequest("credential plugin " + plugin.command + " gave neither token nor certificate"));
  if (const auto when = api::ParseTime(status["expirationTimestamp"].string_or("")))
    credential.expires = when->ToTimePoint();
  return credential;
}

std::shared_ptr<Credentials> ExecCredentials(ExecPlugin plugin, std::optional<ExecCredential> first,
                                             const Clock& clock) {
  return std::make_shared<ExecToken>(std::move(plugin), std::move(first), clock);
}

}  // namespace flyball
