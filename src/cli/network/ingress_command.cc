#include "cli/network/ingress_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/addons/ingress_flags.h"
#include "cli/programs/cluster.h"
#include "cli/programs/signals.h"
#include "client/config.h"
#include "controller/health_server.h"

namespace flyball::cli {
namespace {

struct IngressProgramFlags {
  std::string kubeconfig, health_address;
  IngressFlags ingress;
};

Status RunIngress(const IngressProgramFlags& flags) {
  ClientThreads threads;
  FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  config.rest.user_agent = "flyball-ingress";
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, threads.runtime()));
  Manager manager(Client(std::move(rest)), {.name = "flyball-ingress", .drop_managed_fields = true});
  FLYBALL_ASSIGN(auto ingress,
                 network::ClusterIngress::Start(manager, IngressOptionsOf(flags.ingress, "0.0.0.0")));
  std::unique_ptr<HealthServer> health;
  if (!flags.health_address.empty()) {
    FLYBALL_ASSIGN(health, HealthServer::Start(flags.health_address, manager));
    std::cout << "health and metrics on port " << health->port() << std::endl;
  }
  FLYBALL_TRY(manager.Start());
  std::cout << "ingress running on ports " << ingress->http_port() << " (HTTP) and " << ingress->https_port()
            << " (HTTPS)" << std::endl;
  WaitForStopSignal();
  StopManager(manager);
  ingress.reset();
  threads.Stop();
  return {};
}

}  // namespace

void AddIngressCommand(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<IngressProgramFlags>();
  auto* command = app.add_subcommand("ingress", "Serve the Ingress objects of a cluster by HTTP and HTTPS");
  command->add_option("--kubeconfig", flags->kubeconfig, "How to reach the API server");
  command->add_option("--health-address", flags->health_address,
                      "Serve /healthz, /readyz and /metrics over plain HTTP at host:port");
  AddIngressFlags(*command, flags->ingress);
  command->footer(
      "It runs where pods can be reached: on a node.\n\n"
      "Example:\n  flyball ingress --kubeconfig D/kubeconfig --ingress-http-port 8080 --ingress-https-port "
      "8443");
  command->callback([flags, &exit_code] {
    BlockStopSignals();
    if (const Status ran = RunIngress(*flags); !ran) {
      std::cerr << "flyball ingress: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
