#include "cli/service_proxy/service_proxy_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/observe/log.h"
#include "cli/foreign_flags/flags_without_effect.h"
#include "cli/foreign_flags/kube_proxy_flags.h"
#include "cli/programs/cluster.h"
#include "cli/programs/signals.h"
#include "cli/service_proxy/service_proxy_flags.h"
#include "client/config.h"
#include "network/services/proxy_server.h"
#include "network/services/service_proxy.h"

namespace flyball::cli {
namespace {

Result<Client> ConnectProxy(const ServiceProxyFlags& flags, const Runtime& runtime) {
  FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  if (!flags.master.empty()) config.http.url = flags.master;
  config.rest.user_agent = "kube-proxy";
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, runtime));
  return Client(std::move(rest));
}

Status ReadNodeNetworks(const Client& client, network::ServiceProxyOptions& options) {
  FLYBALL_ASSIGN(const Node node, client.Get<Node>("", options.node_name));
  for (const std::string& text : node.spec.pod_cidrs)
    if (const auto network = api::ParseCidr(text)) options.local.cidrs.push_back(*network);
  if (options.local.cidrs.empty())
    return Unexpected(BadRequest("node " + options.node_name + " has no podCIDR, which NodeCIDR needs"));
  return {};
}

Result<std::unique_ptr<network::ProxyServer>> Serve(const std::string& address,
                                                    const network::ServiceProxy& proxy, Metrics& metrics) {
  if (address.empty()) return std::unique_ptr<network::ProxyServer>();
  auto server = network::ProxyServer::Start(address, proxy, metrics, RealClock());
  if (!server) return Unexpected(server.error().Annotate(address));
  return server;
}

Status CleanUp() {
  FLYBALL_ASSIGN(const auto nft, network::Nftables::Open());
  for (const auto family : {network::IpFamily::kV4, network::IpFamily::kV6})
    FLYBALL_TRY(nft->Run(network::ServiceTable({.family = family}).RenderRemoval()));
  return {};
}

Status RunProxy(ServiceProxyFlags flags) {
  if (flags.cleanup) return CleanUp();
  FLYBALL_TRY(flags.Complete());
  FLYBALL_ASSIGN(network::ServiceProxyOptions options, flags.Options());
  ClientThreads threads;
  FLYBALL_ASSIGN(Client client, ConnectProxy(flags, threads.runtime()));
  if (flags.detect_local_mode == "NodeCIDR") FLYBALL_TRY(ReadNodeNetworks(client, options));
  if (options.local.cidrs.empty() && options.local.interface.empty())
    log::Warning("no --cluster-cidr: what comes from outside to a cluster IP is not masqueraded");
  Manager manager(std::move(client), {.name = "kube-proxy", .drop_managed_fields = true});
  FLYBALL_ASSIGN(const auto proxy, network::ServiceProxy::Add(manager, options));
  FLYBALL_ASSIGN(const auto healthz, Serve(flags.healthz_address, *proxy, threads.metrics()));
  FLYBALL_ASSIGN(const auto metrics, Serve(flags.metrics_address, *proxy, threads.metrics()));
  FLYBALL_TRY(manager.Start());
  std::cout << "proxy of node " << options.node_name << " running" << std::endl;
  if (healthz) std::cout << "health on port " << healthz->port() << std::endl;
  if (metrics) std::cout << "metrics on port " << metrics->port() << std::endl;
  WaitForStopSignal();
  StopManager(manager);
  threads.Stop();
  return {};
}

}  // namespace

void AddServiceProxyCommand(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "service-proxy",
      "Run Services on this node by nftables, with kube-proxy's flag names, for any cluster");
  auto flags = std::make_shared<ServiceProxyFlags>();
  flags->Define(*command);
  command->footer(
      "Rules stay when it ends, so that connections go on; --cleanup deletes them.\n"
      "Example:\n  flyball service-proxy --kubeconfig K --hostname-override node-1 --cluster-cidr "
      "10.244.0.0/16");
  const std::vector<CLI::Option*> others = AddFlagsWithoutEffect(*command, KubeProxyFlags());
  command->callback([flags, others, &exit_code] {
    BlockStopSignals();
    NameFlagsWithoutEffect(others);
    if (const Status ran = RunProxy(*flags); !ran) {
      std::cerr << "flyball service-proxy: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
