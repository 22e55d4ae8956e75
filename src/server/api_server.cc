#include "server/api_server.h"

#include "api/schema/feature_gates.h"
#include "base/run/mutex.h"
#include "base/run/sim_executor.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "server/admission/admission_plugins.h"
#include "server/aggregation/aggregator.h"
#include "server/audit/audit.h"
#include "server/auth/rbac.h"
#include "server/auth/service_account_tokens.h"
#include "server/auth/setup/authentication_setup.h"
#include "server/auth/setup/authorization_setup.h"
#include "server/bootstrap/bootstrap.h"
#include "server/bootstrap/bootstrap_roles.h"
#include "server/bootstrap/cluster_trust.h"
#include "server/bootstrap/kubernetes_service.h"
#include "server/certificate_reader.h"
#include "server/custom/api_services.h"
#include "server/custom/custom_resources.h"
#include "server/documents/documents.h"
#include "server/endpoints/api_endpoints.h"
#include "server/endpoints/nodes/node_location.h"
#include "server/flow/flow_control.h"
#include "server/flow/flow_status.h"
#include "server/handlers/request_handler.h"
#include "server/in_process_transport.h"
#include "server/peers/peers.h"
#include "server/registry/server_state.h"
#include "server/services/allocation_repair.h"
#include "server/services/service_allocator.h"
#include "server/webhook/webhook_caller.h"

namespace flyball::server {
namespace {

// Upstream sends bookmarks about once a minute.
constexpr Duration kBookmarkInterval = std::chrono::minutes(1);

ServiceAccountTokenOptions TokenOptions(const ApiServerOptions& options) {
  return {.issuers = options.service_account_issuers,
          .signing_key = options.service_account_signing_key,
          .keys = options.service_account_keys,
          .audiences = options.api_audiences};
}

// The documents with which others check our tokens.
void AddTokenPages(const ServiceAccountTokens& tokens, Documents& documents) {
  documents.AddPage("/openid/v1/jwks", [&tokens] {
    return Answer{200, "application/jwk-set+json", json::Write(tokens.KeySet())};
  });
  documents.AddPage("/.well-known/openid-configuration", [&tokens, &documents] {
    return Answer{200, "application/json", json::Write(tokens.Configuration(documents.Address()))};
  });
}

// What controllers of this process show: their metrics, and what they did lately.
void AddComponentPages(const std::shared_ptr<const LocalComponents>& components, Documents& documents) {
  const auto add = [&](const std::string& name, const char* type) {
    documents.AddPage("/debug/components/" + name, [components, name, type] {
      auto text = components->Show(name);
      return text ? Answer{200, type, std::move(*text)}
                  : Answer{404, "text/plain; charset=utf-8", "no controllers run in this process\n"};
    });
  };
  add("metrics", "text/plain; version=0.0.4; charset=utf-8");
  add("reconciles", "application/json");
}

}  // namespace

// Sends them every minute, until it is stopped. Its timer may outlive it, and then does nothing. Thread-safe.
class Bookmarks : public std::enable_shared_from_this<Bookmarks> {
 public:
  Bookmarks(WatchCache& cache, Executor& executor) : cache_(&cache), executor_(executor) {}

  void Schedule() {
    executor_.PostAfter(kBookmarkInterval, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && self->SendAll()) self->Schedule();
    });
  }
  // Waits for a round that is under way; afterwards none begins.
  void Stop() {
    MutexLock lock(mu_);
    cache_ = nullptr;
  }

 private:
  bool SendAll() {
    MutexLock lock(mu_);
    if (cache_) cache_->BookmarkAll();  // only hands work on
    return cache_ != nullptr;
  }

  Mutex mu_;
  WatchCache* cache_ FLYBALL_GUARDED_BY(mu_);
  Executor& executor_;
};

// In the order they are made; destroyed in reverse.
struct ApiServer::Parts {
  Parts(store::Store& s, Executor& e, Random& r, Metrics& m) : store(s), executor(e), random(r), metrics(m) {}

  store::Store& store;
  Executor& executor;
  Random& random;
  Metrics& metrics;
  std::unique_ptr<WatchCache> cache;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<ServiceAccountTokens> tokens;
  std::unique_ptr<Authentication> authentication;
  std::unique_ptr<Authorization> authorization;
  RegistryAccess access;
  RemoteCalls admission_calls;
  std::unique_ptr<WebhookCaller> webhooks;
  std::unique_ptr<AdmissionChain> admission;
  std::unique_ptr<StoredPorts> ports;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<ServerState> state;
  std::unique_ptr<AllocationRepair> repair;
  const std::shared_ptr<LocalComponents> components = std::make_shared<LocalComponents>();
  std::shared_ptr<TransportCache> nodes;
  EndpointTable endpoints;
  std::unique_ptr<Aggregator> aggregator;
  std::unique_ptr<Documents> documents;
  std::shared_ptr<FlowControl> flow;
  std::unique_ptr<Audit> audit;
  std::unique_ptr<RequestHandler> handler;
  std::unique_ptr<CustomResources> custom;
  std::unique_ptr<ApiServices> api_services;
  std::unique_ptr<FlowStatus> flow_status;
  std::unique_ptr<ClusterTrust> trust;
  std::shared_ptr<Bookmarks> bookmarks;
  std::unique_ptr<Peers> peers;
  std::string service_range, hostname;
  std::atomic<bool> stopped{false};

  Status Assemble(const ApiServerOptions& options);
  // Their addresses and ports.
  Status PrepareServices(const ApiServerOptions& options);
};

Status ApiServer::Parts::PrepareServices(const ApiServerOptions& options) {
  FLYBALL_ASSIGN(const AddressRanges ranges, ParseServiceRanges(options.service_cluster_ip_range));
  FLYBALL_ASSIGN(const PortRange port_range, ParsePortRange(options.service_node_port_range));
  FLYBALL_ASSIGN(ports, StoredPorts::Open(store, executor, port_range));
  registry->AddLifecycle("services", NewServiceAllocator(ranges, *state, *ports));
  repair = std::make_unique<AllocationRepair>(ranges, *state, *ports);
  return {};
}

Status ApiServer::Parts::Assemble(const ApiServerOptions& options) {
  service_range = options.service_cluster_ip_range;
  hostname = options.hostname;
  cache = std::make_unique<WatchCache>(store, executor);
  InstallCertificateReader();
  RuntimeConfig served(api::ProcessGates().minor());
  FLYBALL_TRY(served.Set(options.runtime_config));
  FLYBALL_ASSIGN(catalog, Catalog::Make(*cache, served));
  FLYBALL_ASSIGN(tokens, ServiceAccountTokens::Make(TokenOptions(options), *catalog, executor.clock()));
  FLYBALL_ASSIGN(authentication, Authentication::Make(options.authentication,
                                                      {*catalog, *tokens, options.service_account_issuers,
                                                       executor, random, metrics, options.files}));
  FLYBALL_ASSIGN(authorization, Authorization::Make(options.authorization,
                                                    {*catalog, executor, random, metrics, options.files}));
  const Authorizer& authorizer = authorization->authorizer();
  webhooks = std::make_unique<WebhookCaller>(*catalog, random, admission_calls);
  FLYBALL_ASSIGN(
      auto plugins,
      AdmissionPlugins(
          options.admission,
          {*catalog, authorizer, access, {executor, random, admission_calls}, *webhooks, metrics}));
  admission = std::make_unique<AdmissionChain>(std::move(plugins));
  registry = std::make_unique<Registry>(store, *admission, random, options.event_ttl, options.workers);
  access.registry = registry.get();
  state = std::make_unique<ServerState>(ServerState{store, *cache, *catalog, *registry, *admission,
                                                    authentication->chain(), authorizer, executor, random,
                                                    metrics, options.workers});
  FLYBALL_TRY(PrepareServices(options));
  nodes = NewNodeTransports(options.node_client_certificate, options.node_client_key, options.node_ca);
  AddApiEndpoints(endpoints, nodes, *tokens, components);
  aggregator =
      std::make_unique<Aggregator>(*state, options.proxy_client_certificate, options.proxy_client_key);
  documents = std::make_unique<Documents>(*state, aggregator->documents());
  documents->SetFacts({executor.clock().Now(), options.flags});
  documents->AddCheck("ping", [] { return Status(); });
  documents->AddCheck("log", [] { return Status(); });
  documents->AddCheck("etcd", [this] { return store.Health(); });
  for (const auto& [name, check] : options.health_checks) documents->AddCheck(name, check);
  AddTokenPages(*tokens, *documents);
  AddComponentPages(components, *documents);
  flow = FlowControl::Make(*catalog, options.max_requests_inflight + options.max_mutating_requests_inflight,
                           metrics);
  FLYBALL_ASSIGN(audit, Audit::Make(options.audit, executor.clock(), random, metrics));
  handler = std::make_unique<RequestHandler>(*state, endpoints, *aggregator, *documents, *flow, *audit,
                                             options.request_timeout);
  auto objects = BootstrapObjects(state->clock().Now());
  for (auto& object : BootstrapFlowControl(state->clock().Now())) objects.push_back(std::move(object));
  for (auto& object : BuiltinApiServices(*catalog->snapshot())) objects.push_back(std::move(object));
  FLYBALL_TRY(EnsureObjects(*state, objects));
  FLYBALL_TRY(EnsureObjects(*state, BootstrapPolicy(), Existing::kComplete));
  FLYBALL_TRY(repair->Run());
  if (store.shared()) repair->Start();
  custom = std::make_unique<CustomResources>(*state, *cache, *webhooks);
  FLYBALL_TRY(custom->Start());
  api_services = std::make_unique<ApiServices>(*state);
  api_services->Start();
  aggregator->Start();
  flow_status = std::make_unique<FlowStatus>(*state);
  flow_status->Start();
  trust = std::make_unique<ClusterTrust>(*state, options.authentication);
  trust->Start();
  bookmarks = std::make_shared<Bookmarks>(*cache, executor);
  bookmarks->Schedule();
  return {};
}

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ApiServer::~ApiServer() {
  Stop();
}

Result<std::unique_ptr<ApiServer>> ApiServer::Make(const ApiServerOptions& options, store::Store& store,
                                                   Executor& executor, Random& random, Metrics& metrics) {
  auto parts = std::make_unique<Parts>(store, executor, random, metrics);
  FLYBALL_TRY(parts->Assemble(options));
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts)));
}

Status ApiServer::Advertise(const std::string& host, int port) {
  FLYBALL_ASSIGN(json::Value service, KubernetesService(parts_->service_range, port));
  FLYBALL_ASSIGN(const std::string address, KubernetesServiceAddress(parts_->service_range));
  std::vector<json::Value> objects{std::move(service), IpAddressObject(address, "default", "kubernetes")};
  objects.push_back(KubernetesServiceCidr(parts_->service_range, parts_->state->clock().Now()));
  FLYBALL_TRY(EnsureObjects(*parts_->state, objects));
  if (!parts_->store.shared())
    return EnsureObjects(*parts_->state, KubernetesEndpoints({host}, port), Existing::kBringUpToDate);
  parts_->peers = std::make_unique<Peers>(*parts_->state, PeerOptions{host, port, parts_->hostname});
  return parts_->peers->Start();
}

net::Handler ApiServer::handler() {
  return [handler = parts_->handler.get()](std::shared_ptr<net::Request> request,
                                           std::shared_ptr<net::ResponseStream> stream) {
    return handler->Handle(std::move(request), std::move(stream));
  };
}

std::unique_ptr<net::Transport> ApiServer::InProcess(User user) {
  const bool simulated = dynamic_cast<SimExecutor*>(&parts_->executor) != nullptr;
  return NewInProcessTransport(handler(), parts_->executor, FixedPeer(user), simulated);
}

std::unique_ptr<net::Transport> ApiServer::InProcess(std::function<std::string()> certificate_pem,
                                                     const std::string& client_ca_pem) {
  const bool simulated = dynamic_cast<SimExecutor*>(&parts_->executor) != nullptr;
  return NewInProcessTransport(
      handler(), parts_->executor,
      CertificatePeer(std::move(certificate_pem), client_ca_pem, parts_->executor.clock()), simulated);
}

Status ApiServer::Ensure(const std::vector<json::Value>& objects) {
  return EnsureObjects(*parts_->state, objects);
}

void ApiServer::SetNodeClient(const std::string& certificate_pem, const std::string& key_pem) {
  parts_->nodes->SetCertificate(certificate_pem, key_pem);
}

void ApiServer::SetProxyClient(const std::string& certificate_pem, const std::string& key_pem) {
  parts_->aggregator->SetCertificate(certificate_pem, key_pem);
}

void ApiServer::ServeLocally(const std::string& service_namespace, const std::string& service_name,
                             net::Handler handler) {
  const bool simulated = dynamic_cast<SimExecutor*>(&parts_->executor) != nullptr;
  parts_->aggregator->AddLocal(
      service_namespace, service_name,
      NewInProcessTransport(std::move(handler), parts_->executor, FixedPeer({}), simulated));
}

LocalComponents& ApiServer::components() {
  return *parts_->components;
}

void ApiServer::SetExternalAddress(std::string address) {
  parts_->documents->SetAddress(std::move(address));
}

void ApiServer::PublishTrust() {
  parts_->trust->Publish();
}

void ApiServer::AnnounceStop() {
  parts_->documents->SetShuttingDown();
  if (parts_->peers) parts_->peers->Stop();
}

void ApiServer::RefuseMore(Closure done) {
  parts_->handler->RefuseMore(std::move(done));
}

void ApiServer::Stop() {
  if (parts_->stopped.exchange(true)) return;
  if (parts_->peers) parts_->peers->Stop();
  if (parts_->bookmarks) parts_->bookmarks->Stop();
  if (parts_->repair) parts_->repair->Stop();
  if (parts_->aggregator) parts_->aggregator->Stop();
  parts_->authentication->Stop();
  parts_->authorization->Stop();
  parts_->admission_calls.Stop();
  parts_->cache->CloseAll();
}

}  // namespace flyball::server
