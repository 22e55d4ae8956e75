#include "network/ingress/cluster_ingress.h"

#include "base/observe/log.h"
#include "net/io/socket_address.h"
#include "net/tls/pki.h"
#include "network/ingress/ingress_status.h"

namespace flyball::network {
namespace {

constexpr Duration kYear = std::chrono::hours(24 * 365);
constexpr Duration kShutdownGrace = std::chrono::seconds(2);

// What clients see that ask for a host without a certificate: nobody has signed it.
Result<net::ServerTls> DefaultCertificate(const Clock& clock) {
  const TimePoint now = clock.Now();
  FLYBALL_ASSIGN(const net::KeyPair authority, net::MakeCertificateAuthority("flyball-ingress", now, kYear));
  FLYBALL_ASSIGN(
      const net::KeyPair pair,
      net::IssueCertificate(
          authority, {.common_name = "flyball-ingress", .dns_names = {"flyball-ingress"}, .server = true},
          now, kYear));
  return net::ServerTls{.certificate_pem = pair.certificate_pem, .private_key_pem = pair.private_key_pem};
}

Result<std::shared_ptr<net::HttpServer>> ListenAt(const IngressOptions& options, int port, const char* flag,
                                                  const net::ServerTls* tls, net::Handler handler) {
  net::ServerOptions server{.address = options.address, .port = port, .tls = tls};
  server.limits.max_body_bytes = options.max_body_bytes;
  auto started = net::HttpServer::Start(server, std::move(handler));
  if (!started)
    return Unexpected(BadRequest(started.error().message() + "; choose another port with " + flag));
  return std::shared_ptr<net::HttpServer>(std::move(*started));
}

std::string PublishedAddress(const IngressOptions& options) {
  if (!options.published_address.empty()) return options.published_address;
  const bool all = options.address == "0.0.0.0" || options.address == "::";
  return all ? net::HostAddress() : options.address;
}

}  // namespace

Result<std::unique_ptr<ClusterIngress>> ClusterIngress::Start(Manager& manager,
                                                              const IngressOptions& options) {
  const Runtime& runtime = manager.runtime();
  std::unique_ptr<ClusterIngress> made(new ClusterIngress());
  made->loop_ = std::make_shared<net::IoLoop>("ingress");
  made->proxy_ = std::make_shared<IngressProxy>(IngressProxy::Ports{options.http_port, options.https_port},
                                                options.answer_timeout, runtime.metrics);
  FLYBALL_ASSIGN(const net::ServerTls tls, DefaultCertificate(runtime.clock()));
  FLYBALL_ASSIGN(made->http_, ListenAt(options, options.http_port, "--ingress-http-port", nullptr,
                                       made->proxy_->Handler()));
  FLYBALL_ASSIGN(made->https_, ListenAt(options, options.https_port, "--ingress-https-port", &tls,
                                        made->proxy_->Handler()));
  made->source_ = std::make_shared<IngressSource>(
      manager.informers(), runtime.executor, made->proxy_, std::make_shared<EndpointConnections>(made->loop_),
      [weak = std::weak_ptr(made->https_), tls](std::vector<net::NamedCertificate> named) {
        net::ServerTls changed = tls;
        changed.by_name = std::move(named);
        const auto server = weak.lock();
        const Status set = server ? server->SetTls(changed) : Status();
        if (!set) log::Error("certificates of Ingresses cannot be used", {{"error", set.error().message()}});
      });
  AddIngressClassController(manager);
  AddIngressStatusController(manager, PublishedAddress(options));
  manager.AddReadyCheck("ingress", [weak = std::weak_ptr(made->source_)]() -> Status {
    const auto live = weak.lock();
    if (live && live->synced()) return {};
    return Unexpected(Error(Reason::kServiceUnavailable, "the Ingresses are not known yet"));
  });
  return made;
}

ClusterIngress::~ClusterIngress() {
  source_.reset();
  for (const auto& server : {http_, https_})
    if (server) server->Shutdown(kShutdownGrace);
  // The connections to endpoints go before their loop.
  if (proxy_) proxy_->SetRoutes(std::make_shared<RouteTable>());
  if (loop_) loop_->Stop();
}

}  // namespace flyball::network
