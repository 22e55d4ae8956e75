// Where the server is and who we are: kubeconfig files and the environment of a pod.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "client/rest_client.h"
#include "net/client/http_client.h"

namespace flyball {

// Certificates that change while the program runs: files that somebody replaces, a credential plugin's that
// expire. Thread-safe.
class TlsSource {
 public:
  virtual ~TlsSource() = default;
  // What connections made from now on should use; nothing if that has not changed since the last call. May
  // block.
  virtual Result<std::optional<net::ClientTls>> Changed() = 0;
};

// Everything needed to reach a server.
struct ClientConfig {
  net::ClientOptions http{};
  std::shared_ptr<TlsSource> tls_source{};  // null: http.tls for ever
  RestOptions rest{};
  std::shared_ptr<Credentials> credentials{};
  std::string default_namespace = "default";
};

// Which credential plugins of a kubeconfig may run (upstream: api.PluginPolicy).
struct PluginPolicy {
  enum class Kind { kAllowAll, kDenyAll, kAllowlist };
  Kind kind = Kind::kAllowAll;
  std::vector<std::string> allowlist{};  // with kAllowlist: names, or paths
};

struct KubeconfigParams {
  std::string path{};     // empty: $KUBECONFIG (a list, merged), else ~/.kube/config
  std::string context{};  // empty: current-context
  // In place of those of the context; empty: those.
  std::string cluster{}, user{};
  std::string server{};  // in place of the cluster's address; then there need not be a cluster
  PluginPolicy plugin_policy{};
  bool has_credentials = false;  // the caller's own are used: no credential plugin runs
  bool stdin_in_use = false;     // by the caller: no credential plugin may read it
};

// Contexts, certificates inline and by file, tokens, token files, basic authentication, exec plugins,
// proxy-url (else what HTTPS_PROXY and NO_PROXY say), tls-server-name, impersonation. Files of tokens and
// certificates are read again as they change. BadRequest if there is no such file or context or a part is
// malformed; if a context, cluster or user is missing, the details have its kind and name. kConnection if a
// credential plugin fails.
Result<ClientConfig> LoadKubeconfig(const KubeconfigParams& params = {}, const Clock& clock = RealClock());
// From the text of one file; relative paths in it are taken from `directory`.
Result<ClientConfig> ParseKubeconfig(std::string_view yaml, const std::string& directory,
                                     const std::string& context = {}, const Clock& clock = RealClock());

// From KUBERNETES_SERVICE_HOST/PORT and the mounted service account. NotFound outside a pod. The token and
// the CA are read again every minute: they rotate.
inline constexpr char kServiceAccountDirectory[] = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ClientConfig> LoadInClusterConfig(const Clock& clock = RealClock(),
                                         const std::string& directory = kServiceAccountDirectory);

// What a program should use: an explicit kubeconfig, else in-cluster, else the default kubeconfig.
Result<ClientConfig> LoadConfig(const KubeconfigParams& params = {}, const Clock& clock = RealClock());

// Connects lazily: the first request finds out whether the server is there.
// `wrap`, if given, makes of the transport the one that is used: one that logs, say.
Result<std::shared_ptr<RestClient>> NewRestClient(
    const ClientConfig& config, const Runtime& runtime,
    const std::function<std::shared_ptr<net::Transport>(std::shared_ptr<net::Transport>)>& wrap = {});

}  // namespace flyball
