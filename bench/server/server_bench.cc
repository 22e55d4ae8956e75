// Measures `flyball apiserver` over HTTPS from another process on the same machine and prints a table.
//
//   server_bench [--quick] [--program FILE | --kubeconfig FILE] [--folder DIR] [--runs N] [--only PART]
//   [--json FILE]
//
// --kubeconfig: a server that runs already, of any kind: creates, reads, lists and watches, and not what its
// process uses. --json: the figures are written there, too.
// --only: start, webhook, creates (which the next three need), reads, lists, watch or memory.
// --folder: where the store is put; it must be on the disk that is meant. --runs: each figure is the best of
// so many runs, because other work on the machine only ever makes them worse. --quick: small numbers, to see
// that it works.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "allowing_webhook.h"
#include "base/run/thread.h"
#include "load.h"
#include "measured_server.h"
#include "report.h"
#include "watchers.h"

namespace flyball::bench {
namespace {

struct Settings {
  std::string program = "build-release/flyball";
  std::string kubeconfig{};
  std::string folder = ".";
  std::string json{};
  int runs = 3;
  bool quick = false;
  std::string only{};

  bool Wants(std::string_view part) const { return only.empty() || only == part; }
  long Scaled(long number) const { return quick ? std::max(number / 50, 10L) : number; }
};

constexpr std::size_t kDataBytes = 1000;
constexpr long kLabelledShare = 100;  // one object in so many has the label that is selected by

std::string ConfigMapsPath(const std::string& space) {
  return "/api/v1/namespaces/" + space + "/configmaps";
}

std::string NameOf(const std::string& prefix, long i) {
  char name[64];
  std::snprintf(name, sizeof name, "%s-%07ld", prefix.c_str(), i);
  return name;
}

// As client-go sends it; 1,000 bytes of data.
net::Request CreateConfigMap(const std::string& space, const std::string& name, bool labelled,
                             std::size_t data_bytes = kDataBytes) {
  net::Request request{.method = "POST", .target = ConfigMapsPath(space)};
  request.headers = {{"accept", "application/json"},
                     {"content-type", "application/json"},
                     {"user-agent", "server_bench/1.0"}};
  auto& body = request.body;
  body.reserve(data_bytes + 300);
  body += R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":")" + name + "\"";
  body += std::string(R"(,"labels":{"app":"bench","tier":")") + (labelled ? "rare" : "common") +
          "\"}},\"data\":{";
  body += kSentAt;
  body += SentAtNow() + "\",\"payload\":\"" + std::string(data_bytes, 'x') + "\"}}";
  return request;
}

net::Request Get(std::string target) {
  net::Request request{.target = std::move(target)};
  request.headers = {{"accept", "application/json"}, {"user-agent", "server_bench/1.0"}};
  return request;
}

void MustSucceed(const Answered& answered) {
  if (answered.status >= 200 && answered.status < 300) return;
  std::fprintf(stderr, "server_bench: status %d: %s\n", answered.status, answered.text.c_str());
  std::exit(1);
}

void MakeNamespace(net::Transport& client, const std::string& name) {
  net::Request request{.method = "POST", .target = "/api/v1/namespaces"};
  request.headers = {{"content-type", "application/json"}};
  request.body = R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":")" + name + "\"}}";
  MustSucceed(Ask(client, std::move(request)));
}

// Best of the runs.
template <typename Fn>
double Least(int runs, Fn fn) {
  double best = fn();
  for (int i = 1; i < runs; ++i) best = std::min(best, fn());
  return best;
}
template <typename Fn>
double Most(int runs, Fn fn) {
  return -Least(runs, [&] { return -fn(); });
}

void MeasureStart(const Settings& settings, Report& report) {
  double idle_mb = 0, idle_cpu = 0;
  const double ready = Least(settings.runs, [&] {
    const MeasuredServer server(settings.program, settings.folder);
    if (idle_mb == 0) {
      SleepFor(std::chrono::seconds(settings.quick ? 1 : 3));
      idle_mb = server.ResidentMb();
      const double cpu = server.CpuSeconds();
      SleepFor(std::chrono::seconds(settings.quick ? 1 : 10));
      idle_cpu = server.CpuSeconds() - cpu;
    }
    return Milliseconds(server.ready_after());
  });
  report.Add("start to ready", ready, "ms", AtMost(100), "2,500-4,200 ms");
  report.Add("idle RSS", idle_mb, "MB", AtMost(25), "300 MB");
  report.Add("idle CPU in 10 s", idle_cpu * 1e3, "ms", AtMost(0), "");
}

// What the disk gives at this time, without us: no create can be faster.
void MeasureDisk(const Settings& settings, Report& report) {
  const std::string path = settings.folder + "/server_bench.sync";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  std::vector<Duration> times;
  for (long i = 0; fd >= 0 && i < settings.Scaled(500); ++i) {
    const SteadyTime start = RealClock().Steady();
    if (pwrite(fd, page.data(), page.size(), i * 4096) != 4096 || fdatasync(fd) != 0) break;
    times.push_back(RealClock().Steady() - start);
  }
  close(fd);
  std::filesystem::remove(path);
  report.Add("(the disk alone: write and sync of 4 KB, p50)", QuantileMs(times, 0.5), "ms", {}, "");
}

void MeasureOneWriter(const Settings& settings, const MeasuredServer& server, Report& report) {
  const auto client = server.NewClient(true);
  MakeNamespace(*client, "one");
  int run = 0;
  const double p50 = Least(settings.runs, [&] {
    const std::string prefix = "run" + std::to_string(run++);
    return RunLoad(*client, 1, settings.Scaled(2000),
                   [&](long i) { return CreateConfigMap("one", NameOf(prefix, i), false); })
        .QuantileMs(0.5);
  });
  report.Add("create, 1 client, p50", p50, "ms", AtMost(0.5), "2.5 ms");
}

constexpr char kWebhookConfigurations[] =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

void Configure(net::Transport& client, const AllowingWebhook& webhook) {
  net::Request request{.method = "POST", .target = kWebhookConfigurations};
  request.headers = {{"content-type", "application/json"}};
  request.body = webhook.Configuration("bench", "hooked");
  MustSucceed(Ask(client, std::move(request)));
}

void RemoveConfiguration(net::Transport& client) {
  net::Request request{.method = "DELETE", .target = kWebhookConfigurations + std::string("/bench")};
  MustSucceed(Ask(client, std::move(request)));
}

// What a validating webhook on the same machine adds to a create, beyond the time it takes itself (next to
// nothing); and what one costs that does not match. The cases take turns, so that all see the same machine.
void MeasureWebhook(const Settings& settings, const MeasuredServer& server, Report& report) {
  const AllowingWebhook webhook;
  const auto client = server.NewClient(true);
  for (const char* space : {"unhooked", "hooked"}) MakeNamespace(*client, space);
  int run = 0;
  const auto p50 = [&](const std::string& space) {
    const std::string prefix = "hook" + std::to_string(run++);
    return RunLoad(*client, 1, settings.Scaled(1000),
                   [&](long i) { return CreateConfigMap(space, NameOf(prefix, i), false); })
        .QuantileMs(0.5);
  };
  double without = 1e9, beside = 1e9, matching = 1e9;
  for (int turn = 0; turn < 3 * settings.runs; ++turn) {
    without = std::min(without, p50("unhooked"));
    Configure(*client, webhook);
    beside = std::min(beside, p50("unhooked"));
    matching = std::min(matching, p50("hooked"));
    RemoveConfiguration(*client);
  }
  report.Add("create without a webhook, p50", without, "ms", {}, "");
  report.Add("a create beside a webhook that does not match, to one without", 100 * beside / without, "%",
             AtMost(102), "");
  report.Add("a matching local webhook adds to a create, p50", matching - without, "ms", AtMost(0.3), "");
}

// Leaves the namespace `bench` with 50,000 objects.
void MeasureManyWriters(const Settings& settings, const MeasuredServer& server, Report& report) {
  const auto h1 = server.NewClient(false), h2 = server.NewClient(true);
  MakeNamespace(*h2, "bench");
  const long each = settings.Scaled(50000) / 5;
  long made = 0;
  double cpu = 1e9;
  const auto run = [&](net::Transport& client) {
    const double before = server.CpuSeconds();
    const auto result = RunLoad(client, 64, each, [&](long i) {
      return CreateConfigMap("bench", NameOf("cm", made + i), (made + i) % kLabelledShare == 0);
    });
    made += each;
    cpu = std::min(cpu, (server.CpuSeconds() - before) / static_cast<double>(each) * 1e3);
    if (result.failed > 0) std::exit(1);
    return result.rate();
  };
  const double over_h1 = Most(3, [&] { return run(*h1); });
  const double cpu_h1 = std::exchange(cpu, 1e9);
  const double over_h2 = Most(2, [&] { return run(*h2); });
  report.Add("creates, 64 clients, a connection each (HTTP/1.1)", over_h1, "/s", AtLeast(8000),
             "1,140-1,280 /s");
  report.Add("creates, 64 clients, one HTTP/2 connection", over_h2, "/s", AtLeast(8000), "");
  report.AddUsage("server CPU a create, HTTP/1.1", cpu_h1, "ms", AtMost(0.15), "1.5 ms");
  report.AddUsage("server CPU a create, HTTP/2", cpu, "ms", AtMost(0.15), "");
}

void MeasureReads(const Settings& settings, const MeasuredServer& server, Report& report) {
  const std::string one = ConfigMapsPath("bench") + "/" + NameOf("cm", 7);
  for (const bool http2 : {false, true}) {
    const auto client = server.NewClient(http2);
    double cpu = 1e9;
    const double rate = Most(settings.runs, [&] {
      const double before = server.CpuSeconds();
      const long total = settings.Scaled(40000);
      const double per_second = RunLoad(*client, 16, total, [&](long) { return Get(one); }).rate();
      cpu = std::min(cpu, (server.CpuSeconds() - before) / static_cast<double>(total) * 1e6);
      return per_second;
    });
    report.Add(
        http2 ? "get, 16 clients, one HTTP/2 connection" : "get, 16 clients, a connection each (HTTP/1.1)",
        rate, "/s", AtLeast(15000), http2 ? "" : "2,200-2,550 /s");
    report.AddUsage(http2 ? "server CPU a get, HTTP/2" : "server CPU a get, HTTP/1.1", cpu, "us", {}, "");
  }
}

double ListSeconds(net::Transport& client, const std::string& target) {
  const auto answered = Ask(client, Get(target), false);
  MustSucceed(answered);
  return Milliseconds(answered.took) / 1e3;
}

double PagesSeconds(net::Transport& client, long page) {
  const SteadyTime start = RealClock().Steady();
  std::string token;
  do {
    const auto answered =
        Ask(client, Get(ConfigMapsPath("bench") + "?limit=" + std::to_string(page) + "&continue=" + token));
    MustSucceed(answered);
    constexpr std::string_view kContinue = "\"continue\":\"";
    const std::string_view head = std::string_view(answered.text).substr(0, 500);
    const auto at = head.find(kContinue);
    token = at == std::string_view::npos
                ? ""
                : std::string(head.substr(at + kContinue.size(),
                                          head.find('"', at + kContinue.size()) - at - kContinue.size()));
  } while (!token.empty());
  return Milliseconds(RealClock().Steady() - start) / 1e3;
}

void MeasureLists(const Settings& settings, const MeasuredServer& server, Report& report) {
  const auto h1 = server.NewClient(false), h2 = server.NewClient(true);
  const std::string all = ConfigMapsPath("bench");
  const auto least = [&](net::Transport& client, const std::string& target) {
    return Least(settings.runs, [&] { return ListSeconds(client, target); });
  };
  report.Add("list of 50,000, HTTP/2", least(*h2, all), "s", AtMost(0.25), "1.4 s");
  report.Add("list of 50,000, HTTP/1.1", least(*h1, all), "s", AtMost(0.25), "0.72 s");
  report.Add("list of 50,000 in pages of 500, HTTP/2",
             Least(settings.runs, [&] { return PagesSeconds(*h2, 500); }), "s", {}, "");
  report.Add("list of 500 by label in 50,000", 1e3 * least(*h2, all + "?labelSelector=tier%3Drare"), "ms", {},
             "");
  report.AddUsage("RSS after these lists", server.ResidentMb(), "MB", {}, "");
}

// Every watcher gets every event; two are written at a time, and the next two when all watchers have them.
void MeasureWatch(const Settings& settings, const MeasuredServer& server, Report& report) {
  const auto writer = server.NewClient(true), reader = server.NewClient(true);
  const std::string space = "watched";
  MakeNamespace(*writer, space);
  const int watchers_wanted = static_cast<int>(settings.Scaled(1000));
  Watchers watchers(*reader, ConfigMapsPath(space) + "?watch=true&resourceVersion=0", watchers_wanted);
  constexpr long kAtATime = 2;
  const long rounds = settings.Scaled(500);
  long made = 0;
  std::vector<Duration> ages;
  double p50 = 1e9, cpu = 1e9;
  const double rate = Most(settings.runs, [&] {
    const long before = watchers.received();
    const double cpu_before = server.CpuSeconds();
    const SteadyTime start = RealClock().Steady();
    for (long round = 0; round < rounds; ++round) {
      RunLoad(*writer, kAtATime, kAtATime,
              [&](long i) { return CreateConfigMap(space, NameOf("w", made + i), false); });
      made += kAtATime;
      watchers.AwaitEach(made);
    }
    const double seconds = Milliseconds(RealClock().Steady() - start) / 1e3;
    const auto events = static_cast<double>(watchers.received() - before);
    cpu = std::min(cpu, (server.CpuSeconds() - cpu_before) / events * 1e6);
    ages = watchers.TakeAges();
    p50 = std::min(p50, QuantileMs(ages, 0.5));
    return events / seconds;
  });
  report.Add("events to 1,000 watchers, HTTP/2", rate, "/s", AtLeast(200000), "32,000-42,000 /s");
  report.Add("write to event at a watcher, p50", p50, "ms", AtMost(8), "34-41 ms");
  report.AddUsage("server CPU an event", cpu, "us", {}, "");
}

void FillTo(const MeasuredServer& server, const std::string& space, long count) {
  const auto client = server.NewClient(true);
  MakeNamespace(*client, space);
  RunLoad(*client, 64, count, [&](long i) { return CreateConfigMap(space, NameOf("more", i), false); });
}

void MeasureMemory(const Settings& settings, Report& report) {
  const MeasuredServer server(settings.program, settings.folder);
  const double idle = server.ResidentMb();
  FillTo(server, "first", settings.Scaled(55000));
  report.Add("RSS with 55,000 objects of 1 KB", server.ResidentMb(), "MB", AtMost(150), "1,000 MB");
  FillTo(server, "second", settings.Scaled(45000));
  const auto client = server.NewClient(true);
  const auto object = Ask(*client, Get(ConfigMapsPath("first") + "/" + NameOf("more", 1)));
  report.Add("RSS an object beyond idle, 100,000 of them",
             (server.ResidentMb() - idle) * 1e3 / static_cast<double>(settings.Scaled(100000)), "KB", {}, "");
  report.Add("  of which the object itself", static_cast<double>(object.bytes) / 1e3, "KB", {}, "");
}

Settings ParseArguments(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (argument == "--quick") {
      settings.quick = true;
      settings.runs = 1;
    } else if (argument == "--program") {
      settings.program = value();
    } else if (argument == "--kubeconfig") {
      settings.kubeconfig = value();
    } else if (argument == "--json") {
      settings.json = value();
    } else if (argument == "--folder") {
      settings.folder = value();
    } else if (argument == "--only") {
      settings.only = value();
    } else if (argument == "--runs") {
      settings.runs = std::max(1, std::atoi(value().c_str()));
    } else {
      std::fprintf(
          stderr,
          "usage: server_bench [--quick] [--program FILE | --kubeconfig FILE] [--folder DIR] [--runs N] "
          "[--only PART] [--json FILE]\n");
      std::exit(2);
    }
  }
  return settings;
}

// What is the same for our own server and for one that runs already.
void MeasureRequests(const Settings& settings, const MeasuredServer& server, Report& report) {
  if (settings.Wants("creates")) MeasureOneWriter(settings, server, report);
  if (settings.Wants("webhook") && settings.kubeconfig.empty()) MeasureWebhook(settings, server, report);
  if (settings.only != "webhook") MeasureManyWriters(settings, server, report);
  if (settings.Wants("reads")) MeasureReads(settings, server, report);
  if (settings.Wants("lists")) MeasureLists(settings, server, report);
  if (settings.Wants("watch")) MeasureWatch(settings, server, report);
}

void MeasureOwnServer(const Settings& settings, Report& report) {
  if (settings.Wants("start")) MeasureStart(settings, report);
  if (settings.only != "start" && settings.only != "memory") {
    const MeasuredServer server(settings.program, settings.folder);
    if (settings.Wants("creates")) MeasureDisk(settings, report);
    MeasureRequests(settings, server, report);
  }
  if (settings.Wants("memory")) MeasureMemory(settings, report);
}

int Main(int argc, char** argv) {
  const Settings settings = ParseArguments(argc, argv);
  Report report(settings.kubeconfig.empty());
  if (settings.kubeconfig.empty())
    MeasureOwnServer(settings, report);
  else
    MeasureRequests(settings, MeasuredServer(settings.kubeconfig), report);
  if (settings.quick)
    std::printf("quick: numbers of objects, clients and runs are small; the figures mean little\n");
  report.Print();
  if (!settings.json.empty()) report.WriteJson(settings.json);
  return 0;
}

}  // namespace
}  // namespace flyball::bench

int main(int argc, char** argv) {
  return flyball::bench::Main(argc, argv);
}
