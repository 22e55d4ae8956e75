// ApiServer: the Kubernetes API on a store, without sockets: `handler()` serves whatever brings requests, an
// HttpServer (serving.h) or the in-process transport.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "json/value.h"
#include "net/http/http.h"
#include "server/admission/basis/admission_options.h"
#include "server/audit/audit_options.h"
#include "server/auth/authentication_options.h"
#include "server/auth/config/authorization_config.h"
#include "server/request/user.h"
#include "store/store.h"

namespace flyball::server {

class LocalComponents;

// By name, in the order /healthz shows them. They never block.
using HealthChecks = std::vector<std::pair<std::string, std::function<Status()>>>;

struct ApiServerOptions {
  std::string service_cluster_ip_range = "10.0.0.0/24";  // kube-apiserver's default
  std::string service_node_port_range = "30000-32767";
  Duration event_ttl = std::chrono::hours(1);
  AuthenticationOptions authentication;
  AuthorizationOptions authorization;
  FileWatcher* files = nullptr;  // follows configuration files; stopped before the server goes. Null: not
  // The first makes tokens; those of the others are accepted too.
  std::vector<std::string> service_account_issuers = {"https://kubernetes.default.svc.cluster.local"};
  std::string service_account_signing_key;        // PEM; empty: one is made, and tokens die with the process
  std::vector<std::string> service_account_keys;  // further public keys that are accepted
  std::vector<std::string> api_audiences;         // empty: the issuers
  std::string node_client_certificate, node_client_key;  // with which nodes are asked for logs (PEM)
  std::string node_ca;  // who vouches for nodes' serving certificates (PEM); empty: they are not checked
  AdmissionOptions admission;
  // With which other API servers are called, so that they believe who the user is (PEM); empty: none.
  std::string proxy_client_certificate, proxy_client_key;
  int max_requests_inflight = 400;
  int max_mutating_requests_inflight = 200;
  Duration request_timeout = std::chrono::minutes(1);  // of requests that are not long-running
  AuditOptions audit;
  // Where requests that take longer than a moment run. Null: on the server's executor. Must outlive the
  // server.
  Executor* workers = nullptr;
  std::string runtime_config;                // which API versions are served, as --runtime-config says it
  std::map<std::string, std::string> flags;  // what /flagz shows
  HealthChecks health_checks;                // further ones
  std::string hostname = "localhost";        // which machine this server's identity lease names
};

// Thread-safe once made.
class ApiServer {
 public:
  // Loads the store, makes what every cluster has (namespaces, roles) and is ready to serve. Blocks until
  // then.
  static Result<std::unique_ptr<ApiServer>> Make(const ApiServerOptions& options, store::Store& store,
                                                 Executor& executor, Random& random, Metrics& metrics);
  ~ApiServer();

  // Says in the cluster where this server is reached: the `kubernetes` Service and its endpoints, in the
  // namespace `default`. `host` is an IP address. Blocks until that is stored. On a store that several
  // servers share it goes on saying so until Stop.
  Status Advertise(const std::string& host, int port);

  net::Handler handler();
  // A transport whose requests come from `user`, with the semantics of the network: authorisation, admission,
  // validation.
  std::unique_ptr<net::Transport> InProcess(User user);
  // The same for one who presents a client certificate, or a bearer token, as over TLS (CertificatePeer).
  std::unique_ptr<net::Transport> InProcess(std::function<std::string()> certificate_pem,
                                            const std::string& client_ca_pem);
  // Makes objects that are not there yet. For those a program adds to every cluster it starts. Blocks until
  // they are stored.
  Status Ensure(const std::vector<json::Value>& objects);
  // The certificate nodes are asked with from now on.
  void SetNodeClient(const std::string& certificate_pem, const std::string& key_pem);
  // The certificate other API servers are called with from now on.
  void SetProxyClient(const std::string& certificate_pem, const std::string& key_pem);
  // A server in this process is behind the Service of this name from now on, for APIServices that name it: no
  // such Service has to exist. The handler's requests have the user in headers, as from any front proxy; they
  // are authorized already. It outlives the server.
  void ServeLocally(const std::string& service_namespace, const std::string& service_name,
                    net::Handler handler);
  // "host:port" where clients find it, shown in /api. Known when it listens.
  void SetExternalAddress(std::string address);
  // The scheduler and the controllers of this process, for `kubectl get componentstatuses`.
  LocalComponents& components();
  // The authorities of client certificates have changed: says so in the cluster.
  void PublishTrust();
  // The server is about to end, and is to get no new work: /readyz says so, and it is not among the cluster's
  // endpoints any more. Everything is served as before. Blocks until that is stored, if it can be.
  void AnnounceStop();
  // From now on requests are refused with 429 and the advice to try again, on another connection; health and
  // metrics are answered. `done` is called when the requests under way have ended, except for watches and the
  // like.
  void RefuseMore(Closure done);
  // Ends every watch, and what waits for other servers. Requests that come later are still answered.
  void Stop();

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace flyball::server
