// The flags of `flyball apiserver` that say who may come in and what they may do, by kube-apiserver's names.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "server/api_server.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace flyball::cli {

// Flags as they were given. Lives as long as the command.
class IdentityFlags {
 public:
  // Adds the groups Authentication and Authorization to the command's help. `options` gets the values.
  void Define(CLI::App& command, server::ApiServerOptions& options);
  // After parsing. BadRequest naming the flag.
  Status Read(server::ApiServerOptions& options) const;

 private:
  void DefineOidc(CLI::App& command, server::OidcOptions& oidc);
  void DefineRequestHeaders(CLI::App& command, server::RequestHeaderOptions& headers);
  void DefineWebhooks(CLI::App& command, server::ApiServerOptions& options);

  std::string authorization_mode_ = "Node,RBAC";
  std::vector<std::string> required_claims_;
  std::string token_cache_ttl_ = "2m0s", authorized_ttl_ = "5m0s", unauthorized_ttl_ = "30s";
  CLI::Option* anonymous_ = nullptr;
  std::vector<CLI::Option*> oidc_;           // --oidc-*
  std::vector<CLI::Option*> authorization_;  // those that --authorization-config excludes
};

}  // namespace flyball::cli
