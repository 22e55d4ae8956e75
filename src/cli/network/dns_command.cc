#include "cli/network/dns_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "base/values/ascii.h"
#include "cli/programs/cluster.h"
#include "cli/programs/signals.h"
#include "client/config.h"
#include "controller/health_server.h"
#include "dns/cluster_dns.h"
#include "dns/dns_service.h"

namespace flyball::cli {
namespace {

struct DnsFlags {
  std::string kubeconfig, health_address, domain = "cluster.local", resolv_conf = "/etc/resolv.conf";
  std::vector<std::string> listen = {"127.0.0.1"}, upstreams, allow;
  std::string service_address, service_endpoint;
  int port = 53;
  std::uint32_t ttl = 5;
  std::size_t cache_mib = 8;
  dns::PodNames pods = dns::PodNames::kInsecure;
};

Result<dns::DnsServerOptions> ServerOptionsOf(const DnsFlags& flags) {
  dns::DnsServerOptions options{.addresses = flags.listen, .port = flags.port};
  const auto domain = dns::Name::FromText(flags.domain);
  if (!domain || domain->IsRoot() || domain->wire().size() > dns::kMaxDomainBytes)
    return Unexpected(BadRequest("--cluster-domain: \"" + flags.domain + "\" is no domain for a cluster"));
  options.zone = {.domain = *domain, .ttl = flags.ttl, .pods = flags.pods};
  options.forward.cache_bytes = flags.cache_mib << 20;
  FLYBALL_ASSIGN(options.forward.upstreams, dns::UpstreamsFrom(flags.upstreams, flags.resolv_conf));
  if (!flags.allow.empty()) options.allow.clear();
  for (const std::string& text : flags.allow) {
    const auto range = api::ParseCidr(text);
    if (!range) return Unexpected(BadRequest("--allow: \"" + text + "\" is no range such as 10.0.0.0/8"));
    options.allow.push_back(*range);
  }
  return options;
}

// The Service kube-dns, if the flags ask for it.
Status KeepService(Manager& manager, const DnsFlags& flags, int port) {
  if (flags.service_address.empty() && flags.service_endpoint.empty()) return {};
  const auto endpoint = api::ParseIp(flags.service_endpoint);
  if (!api::ParseIp(flags.service_address) || !endpoint || endpoint->IsLoopback())
    return Unexpected(BadRequest(
        "--service-address and --service-endpoint go together: a cluster IP, and an address of this "
        "machine that pods reach, not a loopback one"));
  dns::KeepDnsService(manager, {flags.service_address, flags.service_endpoint, port});
  return {};
}

Status RunDns(const DnsFlags& flags) {
  ClientThreads threads;
  FLYBALL_ASSIGN(dns::DnsServerOptions options, ServerOptionsOf(flags));
  FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  config.rest.user_agent = "flyball-dns";
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, threads.runtime()));
  Manager manager(Client(std::move(rest)), {.name = "flyball-dns", .drop_managed_fields = true});
  FLYBALL_ASSIGN(const auto dns, dns::ClusterDns::Start(manager, std::move(options)));
  FLYBALL_TRY(KeepService(manager, flags, dns->port()));
  std::unique_ptr<HealthServer> health;
  if (!flags.health_address.empty()) {
    FLYBALL_ASSIGN(health, HealthServer::Start(flags.health_address, manager));
    std::cout << "health and metrics on port " << health->port() << std::endl;
  }
  FLYBALL_TRY(manager.Start());
  std::cout << "dns running on port " << dns->port() << std::endl;
  WaitForStopSignal();
  StopManager(manager);
  threads.Stop();
  return {};
}

void AddDnsFlags(CLI::App& command, DnsFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "How to reach the API server");
  command.add_option("--listen", flags.listen, "IP addresses to listen on; may be repeated")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--port", flags.port, "Port for UDP and TCP; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--cluster-domain", flags.domain, "The domain of the cluster's names")
      ->capture_default_str();
  command
      .add_option("--upstream", flags.upstreams,
                  "A name server for all other names, as address or address:port; may be repeated; "
                  "default: those of --resolv-conf")
      ->delimiter(',');
  command.add_option("--resolv-conf", flags.resolv_conf, "Where upstreams are read from")
      ->capture_default_str();
  command
      .add_option("--allow", flags.allow,
                  "Who may ask, as ranges such as 10.0.0.0/8; may be repeated; default: private addresses")
      ->delimiter(',');
  command.add_option("--ttl", flags.ttl, "Seconds that clients may keep an answer about the cluster")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command.add_option("--cache-size", flags.cache_mib, "MiB of memory for the answers of upstreams")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  const std::map<std::string, dns::PodNames> kPods = {{"disabled", dns::PodNames::kDisabled},
                                                      {"insecure", dns::PodNames::kInsecure},
                                                      {"verified", dns::PodNames::kVerified}};
  command
      .add_option("--pods", flags.pods,
                  "Names like 10-1-2-3.NAMESPACE.pod: insecure answers for every address, verified for those "
                  "that a pod of the namespace has, which needs a cache of all pods")
      ->transform(CLI::CheckedTransformer(kPods))
      ->default_str("insecure");
  command.add_option(
      "--service-address", flags.service_address,
      "Keep a Service kube-dns in kube-system with this cluster IP, such as 10.96.0.10, that leads "
      "to --service-endpoint");
  command.add_option("--service-endpoint", flags.service_endpoint,
                     "The address at which pods reach this server");
  command.add_option("--health-address", flags.health_address,
                     "Serve /healthz, /readyz and /metrics over plain HTTP at host:port");
}

}  // namespace

void AddDnsCommand(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<DnsFlags>();
  auto* command = app.add_subcommand("dns", "Run the cluster's name server against an API server");
  AddDnsFlags(*command, *flags);
  command->footer(
      "Example:\n"
      "  flyball dns --kubeconfig D/kubeconfig --port 5353 &\n"
      "  dig @127.0.0.1 -p 5353 kubernetes.default.svc.cluster.local");
  command->callback([flags, &exit_code] {
    BlockStopSignals();
    if (const Status ran = RunDns(*flags); !ran) {
      std::cerr << "flyball dns: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
