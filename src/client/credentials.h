// The ways to prove who we are that change over time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
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
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version = "client.authentication.k8s.io/v1";
  json::Value cluster;  // sent to it if provideClusterInfo; else null
  std::string install_hint;
};
struct ExecCredential {
  std::string token, certificate_pem, private_key_pem;
  std::optional<TimePoint> expires;
};
// Runs it now. Blocks.
Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin);
// Uses its tokens. Certificates cannot change in a connection that is open: those are taken once, when the
// client is made.
std::shared_ptr<Credentials> ExecCredentials(ExecPlugin plugin, std::optional<ExecCredential> first,
                                             const Clock& clock);

Result<std::string> ReadFile(const std::string& path);

}  // namespace flyball
