// The whole control plane in one process, as `flyball up` runs it (SQLite store, every write fsynced; sim
// nodes where a row says so): how long until what a user asked for is there.
//
//   controllers_bench [--runs N] [row...]      the best of N runs; rows are named in the first column
#include <sys/resource.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "cli/programs/cluster.h"
#include "cli/programs/server_process.h"
#include "controllers/controllers.h"
#include "flyball/sdk.h"
#include "json/yaml/yaml.h"
#include "scheduler/scheduler.h"

namespace flyball::bench {
namespace {

using namespace std::chrono_literals;

struct Counts {
  std::atomic<long> writes = 0, reads = 0, watches = 0;
};

// Counts what passes.
class CountingTransport final : public net::Transport {
 public:
  CountingTransport(std::shared_ptr<net::Transport> inner, Counts& counts)
      : inner_(std::move(inner)), counts_(counts) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    const bool watch = request.target.find("watch=true") != std::string::npos;
    ++(request.method != "GET" ? counts_.writes : watch ? counts_.watches : counts_.reads);
    return inner_->Start(std::move(request), std::move(sink));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> protocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    inner_->OpenWebSocket(std::move(request), std::move(protocols), std::move(done));
  }

 private:
  const std::shared_ptr<net::Transport> inner_;
  Counts& counts_;
};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "controllers_bench: %s\n", what.c_str());
  std::exit(1);
}
template <typename T>
T Must(Result<T> result) {
  if (!result) Die(result.error().ToString());
  return std::move(*result);
}
void Must(const Status& status) {
  if (!status) Die(status.error().ToString());
}

// Seconds of processor time this process has used.
double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A cluster in a folder of its own.
class World {
 public:
  explicit World(int nodes) : folder_(MakeFolder()) {
    cli::ServerProcessOptions options;
    options.serving.data_dir = folder_;
    options.serving.port = 0;
    server_ = Must(cli::ServerProcess::Start(std::move(options)));
    admin_ = std::make_unique<Client>(ClientAs("admin", {"system:masters"}));
    mapper_ = std::make_unique<RestMapper>(*admin_);
    controllers_ = std::make_unique<Manager>(
        ClientAs("system:kube-controller-manager", {}),
        ManagerOptions{.name = "kube-controller-manager", .drop_managed_fields = true});
    Must(controllers::AddControllers(*controllers_, {}));
    Must(controllers_->Start());
    if (nodes > 0) StartNodes(nodes);
    WaitUntil([this] { return static_cast<bool>(admin_->Get<ServiceAccount>("default", "default")); });
  }
  ~World() {
    if (scheduler_) cli::StopManager(*scheduler_);
    cli::StopManager(*controllers_);
    nodes_.reset();
    server_->api().Stop();
    threads_.Stop();
    scheduler_.reset();
    controllers_.reset();
    mapper_.reset();
    admin_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  Client& admin() { return *admin_; }
  Counts& counts() { return counts_; }

  void Create(std::string_view yaml) {
    const json::Value value = Must(json::ParseYaml(yaml));
    const KindRef kind = Must(mapper_->ForObject(value));
    Must(admin_->Dynamic(kind).Create(value));
  }
  // How many objects a collection has, without reading them.
  long CountOf(const std::string& path) {
    RestRequest request{.path = path};
    request.Query("limit", "1");
    const json::Value list = Must(admin_->rest().DoJson(std::move(request)));
    return static_cast<long>(list["items"].size()) + list["metadata"]["remainingItemCount"].int_or(0);
  }
  // Looks every few milliseconds: rarely enough not to be part of what is measured.
  void WaitUntil(const std::function<bool()>& done) {
    while (!done()) {
      Notification<bool> tick;
      threads_.runtime().executor.PostAfter(5ms, [&tick] { tick.Set(true); });
      tick.Wait();
    }
  }
  SteadyTime Now() { return threads_.runtime().clock().Steady(); }

 private:
  static std::string MakeFolder() {
    std::string folder = (std::filesystem::temp_directory_path() / "controllers_bench.XXXXXX").string();
    if (!::mkdtemp(folder.data())) Die("cannot make " + folder);
    return folder;
  }
  Client ClientAs(const std::string& name, const std::vector<std::string>& groups) {
    auto transport = std::make_shared<CountingTransport>(
        std::shared_ptr<net::Transport>(server_->api().InProcess({name, "", groups, {}})), counts_);
    return Client(std::make_shared<RestClient>(std::move(transport), threads_.runtime()));
  }
  void StartNodes(int count) {
    scheduler_ =
        std::make_unique<Manager>(ClientAs("system:kube-scheduler", {}),
                                  ManagerOptions{.name = "kube-scheduler", .drop_managed_fields = true});
    Must(scheduler::AddScheduler(*scheduler_));
    Must(scheduler_->Start());
    cli::NodesOptions options{"sim", folder_, {}, "127.0.0.1", server_->pki().client_ca_pem};
    for (int i = 0; i < count; ++i) options.names.push_back("node-" + std::to_string(i));
    nodes_ = Must(cli::Nodes::Start(options, threads_.runtime().executor,
                                    [this](const std::string& name) -> Result<Client> {
                                      return ClientAs("system:node:" + name, {"system:nodes"});
                                    }));
    WaitUntil([this, count] {
      int ready = 0;
      for (const Node& node : Must(admin_->List<Node>("")).items)
        if (IsConditionTrue(node.status.conditions, "Ready") && node.spec.taints.empty()) ++ready;
      return ready == count;
    });
  }

  const std::string folder_;
  Counts counts_;
  cli::ClientThreads threads_;
  std::unique_ptr<cli::ServerProcess> server_;
  std::unique_ptr<Client> admin_;
  std::unique_ptr<RestMapper> mapper_;  // asks the server what it serves once, not at every create
  std::unique_ptr<Manager> controllers_, scheduler_;
  std::unique_ptr<cli::Nodes> nodes_;
};

std::string DeploymentOf(const std::string& name, int replicas) {
  return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name +
         ", namespace: default}, spec: {replicas: " + std::to_string(replicas) +
         ", selector: {matchLabels: {app: " + name + "}}, template: {metadata: {labels: {app: " + name +
         "}}, spec: {containers: [{name: c, image: 'registry.example/app:1'}]}}}}";
}

struct Row {
  const char* name;
  const char* what;
  const char* goal;
  const char* kubernetes;  // kube-controller-manager + kube-apiserver on the same class of machine
  int nodes;
  std::function<void(World&)> prepare;
  std::function<void(World&)> run;
};

void WaitReady(World& world, const std::string& name, int replicas) {
  world.WaitUntil(
      [&] { return Must(world.admin().Get<Deployment>("default", name)).status.ready_replicas == replicas; });
}

void CreateMaps(World& world, int count) {
  const DynamicClient maps = world.admin().Of<ConfigMap>();
  std::atomic<int> left = count;
  for (int i = 0; i < count; ++i) {
    json::Value map = json::Object{
        {"metadata", json::Object{{"name", "map-" + std::to_string(i)}, {"namespace", "doomed"}}},
        {"data", json::Object{{"key", "value"}}}};
    // A few at a time: the server turns more than its limit away.
    world.WaitUntil([&] { return i - (count - left) < 64; });
    maps.CreateAsync(std::move(map), {}, [&left](const Result<json::Value>& made) {
      if (!made) Die(made.error().ToString());
      --left;
    });
  }
  world.WaitUntil([&] { return left == 0; });
}

std::vector<Row> Rows() {
  return {
      {"pods-5000", "Deployment of 5,000: all Pod objects", "0.8", "6.4-8.3 (raised limits), ~240 (defaults)",
       0, nullptr,
       [](World& world) {
         world.Create(DeploymentOf("web", 5000));
         world.WaitUntil([&] { return world.CountOf("/api/v1/namespaces/default/pods") == 5000; });
       }},
      {"ready-5000", "Deployment of 5,000: Ready on 10 sim nodes", "-", "-", 10, nullptr,
       [](World& world) {
         world.Create(DeploymentOf("web", 5000));
         WaitReady(world, "web", 5000);
       }},
      {"deployments-1000", "1,000 Deployments of 3: statuses say 3", "3", "-", 0, nullptr,
       [](World& world) {
         for (int i = 0; i < 1000; ++i) world.Create(DeploymentOf("web-" + std::to_string(i), 3));
         for (int i = 0; i < 1000; ++i)
           world.WaitUntil([&] {
             const auto d = Must(world.admin().Get<Deployment>("default", "web-" + std::to_string(i)));
             return d.status.replicas == 3 && d.status.updated_replicas == 3;
           });
       }},
      {"namespace-10000", "Namespace of 10,000 ConfigMaps deleted", "2", "-", 0,
       [](World& world) {
         world.Create("{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}");
         CreateMaps(world, 10000);
       },
       [](World& world) {
         Must(world.admin().Delete<Namespace>("", "doomed"));
         world.WaitUntil([&] { return !world.admin().Get<Namespace>("", "doomed"); });
       }},
      {"ready-500", "Deployment of 500: Ready on one sim node", "-", "-", 1, nullptr,
       [](World& world) {
         world.Create(DeploymentOf("web", 500));
         WaitReady(world, "web", 500);
       }},
  };
}

struct Measured {
  double seconds = 0, cpu = 0;
  long writes = 0, reads = 0;
};

Measured Measure(const Row& row) {
  World world(row.nodes);
  if (row.prepare) row.prepare(world);
  const SteadyTime began = world.Now();
  const double cpu = CpuSeconds();
  const long writes = world.counts().writes, reads = world.counts().reads;
  row.run(world);
  Measured measured;
  measured.seconds = std::chrono::duration<double>(world.Now() - began).count();
  measured.cpu = CpuSeconds() - cpu;
  measured.writes = world.counts().writes - writes;
  measured.reads = world.counts().reads - reads;
  return measured;
}

void Print(const Row& row, int runs) {
  Measured best;
  for (int i = 0; i < runs; ++i) {
    const Measured measured = Measure(row);
    if (i == 0 || measured.seconds < best.seconds) best = measured;
  }
  std::printf("%-16s %-44s %8.2f %6s %8.2f %8ld %7ld   %s\n", row.name, row.what, best.seconds, row.goal,
              best.cpu, best.writes, best.reads, row.kubernetes);
  std::fflush(stdout);
}

}  // namespace
}  // namespace flyball::bench

int main(int argc, char** argv) {
  using namespace flyball;
  int runs = 3;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = std::atoi(argv[++i]);
    else
      wanted.emplace_back(argv[i]);
  }
  log::SetLevel(log::Level::kError);
  std::printf("%-16s %-44s %8s %6s %8s %8s %7s   %s\n", "row", "", "seconds", "goal", "cpu s", "writes",
              "reads", "kube-controller-manager, seconds");
  for (const auto& row : bench::Rows())
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), row.name) != wanted.end())
      bench::Print(row, std::max(runs, 1));
}
