// Mixed load on an API server for a while, over HTTP/1.1 and HTTP/2 at once; then a check that nothing broke
// and that every watcher has what a list shows.
//
//   flyball_load KUBECONFIG [SECONDS] [SEED]
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "base/run/executor.h"
#include "base/run/thread.h"
#include "client/config.h"
#include "load/watcher.h"
#include "load/writer.h"

namespace flyball::load {
namespace {

constexpr int kWriters = 8;
constexpr int kWatchers = 4;
constexpr Duration kSettleTime = std::chrono::seconds(90);

// A client over HTTP/2 (even) or HTTP/1.1 (odd).
Result<std::shared_ptr<RestClient>> Connect(ClientConfig config, const Runtime& runtime, int i) {
  config.http.http2 = i % 2 == 0;
  return NewRestClient(config, runtime);
}

void MakeNamespaces(RestClient& client, Tally& tally) {
  for (int i = 0; i < kNamespaces; ++i) {
    RestRequest request;
    request.verb = "POST";
    request.path = "/api/v1/namespaces";
    request.body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" +
                   NamespaceName(static_cast<std::uint64_t>(i)) + "\"}}";
    tally.Count("namespace", client.Do(std::move(request)));
  }
}

// Watches on until its copy is what the list shows.
void Settle(Watcher& watcher, RestClient& client, Tally& tally) {
  Watcher::State wanted;
  std::string version;
  const auto deadline = RealClock().Steady() + kSettleTime;
  while (Watcher::List(client, tally, wanted, version) && watcher.state() != wanted) {
    if (RealClock().Steady() > deadline)
      return tally.Problem("a watcher holds " + std::to_string(watcher.state().size()) +
                           " objects, the list " + std::to_string(wanted.size()) +
                           ", and they never became the same");
    watcher.Round();
  }
}

int Run(const std::string& kubeconfig, int seconds, std::uint64_t seed) {
  const auto config = LoadKubeconfig({.path = kubeconfig});
  if (!config) {
    std::cerr << config.error().ToString() << "\n";
    return 2;
  }
  Tally tally;
  Metrics metrics;
  ThreadPool executor("load", 2);
  const Runtime runtime{executor, Random::System(), metrics};
  std::vector<std::shared_ptr<RestClient>> clients;
  for (int i = 0; i < 4; ++i) {
    auto client = Connect(*config, runtime, i);
    if (!client) {
      std::cerr << client.error().ToString() << "\n";
      return 2;
    }
    clients.push_back(std::move(*client));
  }
  MakeNamespaces(*clients[0], tally);

  std::atomic<bool> writing{true}, watching{true};
  std::vector<Thread> writers, watchers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back("writer", [&, i] {
      Writer writer(i, *clients[static_cast<std::size_t>(i) % 4], tally,
                    seed + static_cast<std::uint64_t>(i));
      while (writing) writer.Step();
    });
  for (int i = 0; i < kWatchers; ++i)
    watchers.emplace_back("watcher", [&, i] {
      RestClient& client = *clients[static_cast<std::size_t>(i) % 4];
      Watcher watcher("watcher " + std::to_string(i), client, tally,
                      seed + 100 + static_cast<std::uint64_t>(i));
      while (watching) watcher.Round();
      Settle(watcher, client, tally);
    });
  SleepFor(std::chrono::seconds(seconds));
  writing = false;
  writers.clear();
  watching = false;
  watchers.clear();
  clients.clear();
  executor.Stop();
  std::cout << tally.Summary() << "\n";
  return tally.clean() ? 0 : 1;
}

}  // namespace
}  // namespace flyball::load

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "flyball_load KUBECONFIG [SECONDS] [SEED]\n";
    return 2;
  }
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
  const auto seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  return flyball::load::Run(argv[1], seconds, seed);
}
