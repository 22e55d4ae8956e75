// Where the server is and who we are: kubeconfig files and the environment of a pod.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "client/rest_client.h"
#include "net/http_client.h"

namespace flyball {

// Everything needed to reach a server.
struct ClientConfig {
  net::ClientOptions http;
  RestOptions rest;
  std::shared_ptr<Credentials> credentials;
  std::string default_namespace = "default";
};

struct KubeconfigParams {
  std::string path;     // empty: $KUBECONFIG (a list, merged), else ~/.kube/config
  std::string context;  // empty: current-context
};

// Contexts, certificates inline and by file, tokens, token files (read again as they change), basic
// authentication, exec plugins, proxy-url, tls-server-name, impersonation. BadRequest if there is no such
// file or context or a part is malformed.
Result<ClientConfig> LoadKubeconfig(const KubeconfigParams& params = {}, const Clock& clock = RealClock());
// From the text of one file; relative paths in it are taken from `directory`.
Result<ClientConfig> ParseKubeconfig(std::string_view yaml, const std::string& directory,
                                     const std::string& context = {}, const Clock& clock = RealClock());

// From KUBERNETES_SERVICE_HOST/PORT and the mounted service account. NotFound outside a pod. The token is
// read again every minute: it rotates.
Result<ClientConfig> LoadInClusterConfig(const Clock& clock = RealClock());

// What a program should use: an explicit kubeconfig, else in-cluster, else the default kubeconfig.
Result<ClientConfig> LoadConfig(const KubeconfigParams& params = {}, const Clock& clock = RealClock());

// Connects lazily: the first request finds out whether the server is there.
Result<std::shared_ptr<RestClient>> NewRestClient(const ClientConfig& config, const Runtime& runtime);

}  // namespace flyball
