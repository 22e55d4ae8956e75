#include "controller/main.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "api/values/duration.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "base/run/stop_signals.h"
#include "client/config.h"
#include "controller/health_server.h"
#include "json/yaml/yaml.h"

namespace flyball {
namespace {

struct Flags {
  KubeconfigParams kubeconfig;
  std::string bind_address;
  bool print_crds = false, install_crds = false, verbose = false;
  int threads = 8;
};

// Threads for the SDK's own work only: two keep streams flowing while one decodes.
constexpr int kMachineryThreads = 2;

// For a program that only prints its CRDs.
class Nowhere final : public net::Transport {
 public:
  std::shared_ptr<net::Call> Start(net::Request, std::shared_ptr<net::ResponseSink> sink) override {
    sink->OnError(Error(Reason::kConnection, "this program is not connected to a server"));
    return std::make_shared<NoCall>();
  }
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    done(Unexpected(Error(Reason::kConnection, "this program is not connected to a server")));
  }

 private:
  class NoCall final : public net::Call {
   public:
    void Cancel() override {}
    void Pause() override {}
    void Resume() override {}
  };
};

int Fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message().c_str());
  return 1;
}

int PrintCrds(const Setup& setup, const ManagerOptions& options, const Runtime& runtime) {
  Manager manager(Client(std::make_shared<RestClient>(std::make_shared<Nowhere>(), runtime)), options);
  if (Status s = setup(manager); !s) return Fail(s.error());
  bool first = true;
  for (const json::Value& crd : manager.Crds()) {
    std::cout << (first ? "" : "---\n") << json::WriteYaml(crd);
    first = false;
  }
  return 0;
}

Status InstallCrds(const Manager& manager) {
  const KindRef kind{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
                     false};
  for (const json::Value& crd : manager.Crds()) {
    const auto applied =
        manager.client().Dynamic(kind).Apply(crd, {.field_manager = manager.options().name, .force = true});
    if (!applied) return Unexpected(applied.error());
  }
  return {};
}

// A flag with a duration in Go's notation: "15s".
void AddDuration(CLI::App& app, const std::string& name, Duration* out, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [out, name](const std::string& text) {
           const auto parsed = api::ParseDuration(text);
           if (!parsed) throw CLI::ValidationError(name, parsed.error().message());
           *out = *parsed;
         },
         help)
      ->default_str(api::FormatDuration(*out));
}

void AddFlags(CLI::App& app, Flags* flags, ManagerOptions* options) {
  app.add_option("--kubeconfig", flags->kubeconfig.path, "Path of a kubeconfig file");
  app.add_option("--context", flags->kubeconfig.context, "Context of the kubeconfig to use");
  app.add_option("--namespace", options->ns, "Watch only this namespace");
  app.add_flag("--leader-elect", options->leader_election, "Act only while holding a lease");
  app.add_option("--leader-elect-namespace", options->election.ns, "Namespace of the lease");
  app.add_option("--leader-elect-name", options->election.name, "Name of the lease");
  LeaderElectorOptions& election = options->election;
  AddDuration(app, "--leader-elect-lease-duration", &election.lease_duration,
              "How long others wait before they take over from a leader they do not hear of");
  AddDuration(app, "--leader-elect-renew-deadline", &election.renew_deadline,
              "How long a leader that cannot renew goes on leading");
  AddDuration(app, "--leader-elect-retry-period", &election.retry_period, "How often the lease is tried");
  app.add_option("--bind-address", flags->bind_address, "Serve /metrics, /healthz and /readyz at host:port");
  app.add_flag("--print-crds", flags->print_crds, "Print the CustomResourceDefinitions and end");
  app.add_flag("--install-crds", flags->install_crds, "Apply the CustomResourceDefinitions at the start");
  app.add_option("--threads", flags->threads, "Threads for reconcilers")->check(CLI::Range(1, 1024));
  app.add_flag("-v,--verbose", flags->verbose, "Log more");
}

// The signals to stop, for the thread that waits for them. Blocked everywhere else: to be made before threads
// are.
class Signals {
 public:
  Signals() { pthread_sigmask(SIG_BLOCK, &set_, nullptr); }
  void Wait() const {
    int received = 0;
    sigwait(&set_, &received);
  }

 private:
  const sigset_t set_ = StopSignals();
};

int RunManager(const Flags& flags, const Setup& setup, const ManagerOptions& options, const Runtime& runtime,
               const Signals& signals) {
  auto config = LoadConfig(flags.kubeconfig, runtime.clock());
  if (!config) return Fail(config.error());
  config->rest.user_agent = options.name;
  auto rest = NewRestClient(*config, runtime);
  if (!rest) return Fail(rest.error());
  Manager manager(Client(*rest), options);
  if (Status s = setup(manager); !s) return Fail(s.error());
  if (flags.install_crds)
    if (Status s = InstallCrds(manager); !s) return Fail(s.error());
  std::unique_ptr<HealthServer> health;
  if (!flags.bind_address.empty()) {
    auto server = HealthServer::Start(flags.bind_address, manager);
    if (!server) return Fail(server.error());
    health = std::move(*server);
    log::Info("serving metrics and health", {{"port", std::to_string(health->port())}});
  }
  std::atomic<bool> lost = false;
  manager.OnLeadershipLost([&lost] {
    lost = true;
    kill(getpid(), SIGTERM);
  });
  if (Status s = manager.Start(); !s) return Fail(s.error());
  signals.Wait();
  log::Info("stopping");
  auto stopped = std::make_shared<Notification<bool>>();
  manager.Stop([stopped] { stopped->Set(true); });
  stopped->Wait();
  // Threads that never return cannot be joined.
  for (const auto& controller : manager.controllers()) {
    if (controller->active() == 0) continue;
    log::Error("a reconcile did not end", {{"controller", controller->name()}});
    std::_Exit(1);
  }
  if (!lost) return 0;
  return Fail(Error(Reason::kTimeout, "leadership was lost"));
}

}  // namespace

int Main(int argc, char** argv, const Setup& setup, ManagerOptions options) {
  Flags flags;
  const std::string program = argc > 0 ? argv[0] : "controller";
  if (options.name == ManagerOptions{}.name) options.name = program.substr(program.rfind('/') + 1);
  CLI::App app(options.name);
  AddFlags(app, &flags, &options);
  CLI11_PARSE(app, argc, argv);
  if (flags.verbose) log::SetLevel(log::Level::kDebug);

  const Signals signals;
  Metrics metrics;
  ThreadPool machinery("sdk", kMachineryThreads);
  ThreadPool workers("worker", flags.threads);
  const Runtime runtime{
      .executor = machinery, .random = Random::System(), .metrics = metrics, .workers = &workers};
  if (flags.print_crds) return PrintCrds(setup, options, runtime);
  const int code = RunManager(flags, setup, options, runtime, signals);
  workers.Stop();
  machinery.Stop();
  return code;
}

}  // namespace flyball
