// The ways to prove who we are that change over time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/config.h"
#include "client/rest_client.h"
#include "json/value.h"

namespace flyball {

// A bearer token in a file that somebody else keeps fresh (projected service-account tokens): read again when
// the last reading is a minute old.
std::shared_ptr<Credentials> TokenFile(std::string path, const Clock& clock);
// "Authorization: Basic ...".
std::shared_ptr<Credentials> BasicAuth(const std::string& user, const std::string& password);

// A program that prints an ExecCredential (upstream: client-go exec plugins). It is run when there is no
// credential, when the last one has expired, or after a 401.
struct ExecPlugin {
  std::string command{};
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::string api_version = "client.authentication.k8s.io/v1";
  // Whether it may ask the person at the terminal.
  enum class Interactive { kNever, kIfAvailable, kAlways };
  Interactive interactive = Interactive::kIfAvailable;
  json::Value cluster{};  // sent to it if provideClusterInfo; else null
  std::string install_hint{};
  PluginPolicy policy{};
  bool stdin_in_use = false;  // by ourselves: the plugin cannot have it
};
struct ExecCredential {
  std::string token{}, certificate_pem{}, private_key_pem{};
  std::optional<TimePoint> expires{};
};
// Runs it now, if the policy permits. Blocks. Errors are in client-go's words.
Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin);

// The credential of a plugin, run when there is none, when it has expired, or when it was refused.
// Thread-safe; blocks while the plugin runs.
class ExecSession {
 public:
  ExecSession(ExecPlugin plugin, const Clock& clock) : plugin_(std::move(plugin)), clock_(clock) {}
  Result<ExecCredential> Current();
  void Invalidate();

 private:
  const ExecPlugin plugin_;
  const Clock& clock_;
  Mutex mu_;
  std::optional<ExecCredential> current_ FLYBALL_GUARDED_BY(mu_);
};
// Its tokens, and its certificates on top of `base`.
std::shared_ptr<Credentials> ExecCredentials(std::shared_ptr<ExecSession> session);
std::shared_ptr<TlsSource> ExecTls(std::shared_ptr<ExecSession> session, net::ClientTls base);

// Certificates in files: looked at once a minute. An empty path leaves that part as it is in `base`. Files
// that cannot be read for a moment change nothing.
struct TlsFiles {
  std::string ca{}, certificate{}, private_key{};
};
std::shared_ptr<TlsSource> FileTls(TlsFiles files, net::ClientTls base, const Clock& clock);

}  // namespace flyball
