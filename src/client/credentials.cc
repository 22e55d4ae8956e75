#include "client/credentials.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "api/values/time.h"
#include "base/files/durable_file.h"
#include "base/run/mutex.h"
#include "base/values/ascii.h"
#include "client/subprocess.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball {
namespace {

// Files are looked at again after this long.
constexpr Duration kFileAge = std::chrono::minutes(1);
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
    if (token_.empty() || now - read_at_ > kFileAge) {
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
  explicit ExecToken(std::shared_ptr<ExecSession> session) : session_(std::move(session)) {}

  Status Authorize(net::Headers& headers) override {
    FLYBALL_ASSIGN(const ExecCredential current, session_->Current());
    if (!current.token.empty()) headers.Set("authorization", "Bearer " + current.token);
    return {};
  }
  void Invalidate() override { session_->Invalidate(); }

 private:
  const std::shared_ptr<ExecSession> session_;
};

class ExecCertificates final : public TlsSource {
 public:
  ExecCertificates(std::shared_ptr<ExecSession> session, net::ClientTls base)
      : session_(std::move(session)), tls_(std::move(base)) {}

  Result<std::optional<net::ClientTls>> Changed() override {
    FLYBALL_ASSIGN(const ExecCredential current, session_->Current());
    MutexLock lock(mu_);
    if (current.certificate_pem.empty() || current.certificate_pem == tls_.certificate_pem)
      return std::optional<net::ClientTls>();
    tls_.certificate_pem = current.certificate_pem;
    tls_.private_key_pem = current.private_key_pem;
    return std::optional(tls_);
  }

 private:
  const std::shared_ptr<ExecSession> session_;
  Mutex mu_;
  net::ClientTls tls_ FLYBALL_GUARDED_BY(mu_);
};

class TlsFromFiles final : public TlsSource {
 public:
  TlsFromFiles(TlsFiles files, net::ClientTls base, const Clock& clock)
      : files_(std::move(files)), clock_(clock), tls_(std::move(base)), read_at_(clock.Steady()) {}

  Result<std::optional<net::ClientTls>> Changed() override {
    MutexLock lock(mu_);
    const SteadyTime now = clock_.Steady();
    if (now - read_at_ <= kFileAge) return std::optional<net::ClientTls>();
    read_at_ = now;
    net::ClientTls fresh = tls_;
    const bool readable = Read(files_.ca, &fresh.ca_pem) &&
                          Read(files_.certificate, &fresh.certificate_pem) &&
                          Read(files_.private_key, &fresh.private_key_pem);
    const bool same = fresh.ca_pem == tls_.ca_pem && fresh.certificate_pem == tls_.certificate_pem &&
                      fresh.private_key_pem == tls_.private_key_pem;
    if (!readable || same) return std::optional<net::ClientTls>();
    tls_ = fresh;
    return std::optional(std::move(fresh));
  }

 private:
  static bool Read(const std::string& path, std::string* out) {
    if (path.empty()) return true;
    auto text = ReadFile(path);
    if (!text || text->empty()) return false;
    *out = std::move(*text);
    return true;
  }

  const TlsFiles files_;
  const Clock& clock_;
  Mutex mu_;
  net::ClientTls tls_ FLYBALL_GUARDED_BY(mu_);
  SteadyTime read_at_ FLYBALL_GUARDED_BY(mu_);
};

// Whether the plugin may talk to the person at the terminal.
Result<bool> MayInteract(const ExecPlugin& plugin) {
  using Interactive = ExecPlugin::Interactive;
  constexpr const char* kCannot = "exec plugin cannot support interactive mode: standard input is ";
  if (plugin.interactive == Interactive::kNever) return false;
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (plugin.interactive == Interactive::kIfAvailable) return terminal && !plugin.stdin_in_use;
  if (!terminal) return Unexpected(Error(Reason::kUnauthorized, std::string(kCannot) + "not a terminal"));
  if (plugin.stdin_in_use)
    return Unexpected(Error(Reason::kUnauthorized,
                            std::string(kCannot) + "unavailable: used by stdin resource manifest reader"));
  return true;
}

// Where the PATH has the command; the command itself if it is a path; "" if there is no such program.
std::string ProgramPath(const std::string& command) {
  if (command.find('/') != std::string::npos) return access(command.c_str(), X_OK) == 0 ? command : "";
  const char* list = std::getenv("PATH");
  for (const std::string& folder : SplitText(list ? list : "", ':'))
    if (const std::string path = folder + "/" + command; access(path.c_str(), X_OK) == 0) return path;
  return {};
}

Status CheckPolicy(const ExecPlugin& plugin) {
  const auto refused = [](std::string why) { return Unexpected(Error(Reason::kForbidden, std::move(why))); };
  const auto& allowed = plugin.policy.allowlist;
  switch (plugin.policy.kind) {
    case PluginPolicy::Kind::kAllowAll:
      return {};
    case PluginPolicy::Kind::kDenyAll:
      return refused("plugin \"" + plugin.command + "\" not allowed: policy set to \"DenyAll\"");
    case PluginPolicy::Kind::kAllowlist:
      break;
  }
  const std::string path = ProgramPath(plugin.command);
  const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    return entry == plugin.command || (!path.empty() && (entry == path || ProgramPath(entry) == path));
  });
  if (listed) return {};
  return refused("plugin path \"" + (path.empty() ? plugin.command : path) +
                 "\" is not permitted by the credential plugin allowlist");
}

std::string ExecInfo(const ExecPlugin& plugin, bool interactive) {
  json::Value info(json::Object{{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}});
  info["spec"]["interactive"] = interactive;
  if (!plugin.cluster.is_null()) info["spec"]["cluster"] = plugin.cluster;
  return json::Write(info);
}

Result<std::string> PluginOutput(const ExecPlugin& plugin, bool interactive) {
  auto env = plugin.env;
  env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(plugin, interactive));
  auto output =
      RunProcess(plugin.command, plugin.args, env, interactive ? ProcessInput::kOurs : ProcessInput::kEmpty);
  if (!output && output.error().Is(Reason::kNotFound))
    return Unexpected(
        Error(Reason::kNotFound, "exec: executable " + plugin.command + " not found" +
                                     (plugin.install_hint.empty() ? "" : "\n\n" + plugin.install_hint)));
  if (!output) return Unexpected(output.error().Annotate("exec"));
  if (output->exit_code != 0)
    return Unexpected(Error(Reason::kUnauthorized, "exec: executable " + plugin.command +
                                                       " failed with exit code " +
                                                       std::to_string(output->exit_code)));
  return std::move(output->out);
}

Result<ExecCredential> CredentialIn(const std::string& output, const std::string& api_version) {
  auto parsed = json::Parse(output);
  if (!parsed)
    return Unexpected(BadRequest("decoding stdout: couldn't get version/kind; json parse error: " +
                                 parsed.error().message()));
  const std::string_view version = std::as_const(*parsed)["apiVersion"].string_or("");
  if (version != api_version)
    return Unexpected(BadRequest("exec plugin is configured to use API version " + api_version +
                                 ", plugin returned version " + std::string(version)));
  const json::Value& status = std::as_const(*parsed)["status"];
  if (!status.is_object()) return Unexpected(BadRequest("exec plugin didn't return a status field"));
  ExecCredential credential{std::string(status["token"].string_or("")),
                            std::string(status["clientCertificateData"].string_or("")),
                            std::string(status["clientKeyData"].string_or("")),
                            {}};
  if (credential.token.empty() && credential.certificate_pem.empty() && credential.private_key_pem.empty())
    return Unexpected(BadRequest("exec plugin didn't return a token or cert/key pair"));
  if (credential.certificate_pem.empty() != credential.private_key_pem.empty())
    return Unexpected(BadRequest("exec plugin returned only certificate or key, not both"));
  if (const auto when = api::ParseTime(status["expirationTimestamp"].string_or("")))
    credential.expires = when->ToTimePoint();
  return credential;
}

}  // namespace

std::shared_ptr<Credentials> TokenFile(std::string path, const Clock& clock) {
  return std::make_shared<TokenFromFile>(std::move(path), clock);
}

std::shared_ptr<Credentials> BasicAuth(const std::string& user, const std::string& password) {
  return std::make_shared<FixedHeader>("Basic " + net::Base64Encode(user + ":" + password));
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin) {
  FLYBALL_ASSIGN(const bool interactive, MayInteract(plugin));
  FLYBALL_TRY(CheckPolicy(plugin));
  FLYBALL_ASSIGN(const std::string output, PluginOutput(plugin, interactive));
  return CredentialIn(output, plugin.api_version);
}

Result<ExecCredential> ExecSession::Current() {
  MutexLock lock(mu_);
  const bool expired = current_ && current_->expires && clock_.Now() + kExpirySlack >= *current_->expires;
  if (!current_ || expired) {
    FLYBALL_ASSIGN(current_, RunExecPlugin(plugin_));
  }
  return *current_;
}

void ExecSession::Invalidate() {
  MutexLock lock(mu_);
  current_.reset();
}

std::shared_ptr<Credentials> ExecCredentials(std::shared_ptr<ExecSession> session) {
  return std::make_shared<ExecToken>(std::move(session));
}

std::shared_ptr<TlsSource> ExecTls(std::shared_ptr<ExecSession> session, net::ClientTls base) {
  return std::make_shared<ExecCertificates>(std::move(session), std::move(base));
}

std::shared_ptr<TlsSource> FileTls(TlsFiles files, net::ClientTls base, const Clock& clock) {
  return std::make_shared<TlsFromFiles>(std::move(files), std::move(base), clock);
}

}  // namespace flyball
