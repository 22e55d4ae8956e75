// How long an informer takes to have 50,000 ConfigMaps of 1 KB over HTTPS, and what they cost it. The server
// is a process of its own, so that the memory measured is the client's alone.
#include <flyball/sdk.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/run/notification.h"
#include "sdk/server_fixture.h"

namespace flyball {
namespace {

constexpr int kObjects = 50'000;
constexpr int kRuns = 5;
constexpr std::size_t kDataBytes = 1024;

// Fills the server, in its own process and so without the network.
bool Fill(tests::RealServer& server) {
  const Client client(std::make_shared<RestClient>(
      std::shared_ptr<net::Transport>(server.api().InProcess(tests::Admin())), server.MakeRuntime()));
  const std::string value(kDataBytes, 'x');
  for (int i = 0; i < kObjects; ++i) {
    ConfigMap object{.data = {{"value", value}}};
    object.metadata.name = "object-" + std::to_string(i);
    object.metadata.namespace_ = "default";
    if (!client.Create(object)) return false;
  }
  return true;
}

// The server's process: writes its kubeconfig to `out` when it is full, ends when `in` is closed.
int Serve(int in, int out) {
  tests::RealServer server(tests::Wire::kHttps);
  if (!server.ok() || !Fill(server)) return 1;
  const std::string& text = server.kubeconfig();
  if (write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 1;
  close(out);
  char nothing;
  while (read(in, &nothing, 1) > 0) {
  }
  return 0;
}

std::string ReadAllOf(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct Measured {
  double seconds = 0, bytes_per_object = 0;
};

Measured SyncOnce(const ClientConfig& config, bool streaming) {
  Metrics metrics;
  ThreadPool machinery("sdk", 2);
  const Runtime runtime{.executor = machinery, .random = Random::System(), .metrics = metrics};
  const Client client(*NewRestClient(config, runtime));
  if (!client.Get<Namespace>("", "default")) return {};  // connected: what is measured is the sync
  InformerFactory factory(client, {.streaming_lists = streaming});
  auto informer = factory.For<ConfigMap>();
  const double before = ResidentBytes();
  const auto began = RealClock().Steady();
  factory.Start();
  factory.WaitForCacheSync();
  const double seconds = std::chrono::duration<double>(RealClock().Steady() - began).count();
  const double bytes = (ResidentBytes() - before) / kObjects;
  if (informer.lister().List("default").size() < kObjects) std::printf("objects are missing\n");
  factory.Stop();
  machinery.Stop();
  return {seconds, bytes};
}

// In a child process: every run begins with the memory of a fresh program.
Measured SyncInChild(const ClientConfig& config, bool streaming) {
  int fds[2];
  if (pipe(fds) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const Measured measured = SyncOnce(config, streaming);
    const bool written = write(fds[1], &measured, sizeof measured) == sizeof measured;
    std::_Exit(written ? 0 : 1);
  }
  close(fds[1]);
  Measured measured;
  if (read(fds[0], &measured, sizeof measured) != sizeof measured) measured = {};
  close(fds[0]);
  waitpid(child, nullptr, 0);
  return measured;
}

void Measure(const char* name, const ClientConfig& config, bool streaming) {
  double best_seconds = 1e9, least_bytes = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const Measured measured = SyncInChild(config, streaming);
    best_seconds = std::min(best_seconds, measured.seconds);
    least_bytes = std::min(least_bytes, measured.bytes_per_object);
  }
  std::printf(
      "%-28s %6.2f s   (goal 0.45; client-go 0.9)    %5.2f KB RSS an object beyond its data   (goal 1.3; "
      "client-go 2.7)\n",
      name, best_seconds, (least_bytes - kDataBytes) / 1024);
}

int Run() {
  int to_server[2], from_server[2];
  if (pipe(to_server) != 0 || pipe(from_server) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) {
    close(to_server[1]);
    close(from_server[0]);
    const int code = Serve(to_server[0], from_server[1]);
    std::_Exit(code);
  }
  close(to_server[0]);
  close(from_server[1]);
  const auto config = ParseKubeconfig(ReadAllOf(from_server[0]), "");
  if (!config) return 1;
  std::printf("informer sync of %d ConfigMaps of %zu bytes over HTTPS, best of %d\n", kObjects, kDataBytes,
              kRuns);
  Measure("list and watch", *config, false);
  Measure("streaming list", *config, true);
  close(to_server[1]);
  waitpid(server, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace flyball

int main() {
  return flyball::Run();
}
