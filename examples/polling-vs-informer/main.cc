// Three generations of controllers, side by side, doing the same: noticing changes of ConfigMaps.
//
//   polling           each controller lists everything, again and again
//   own informer      each controller keeps a copy of its own: one list and one watch each
//   shared informer   all of them share one copy: one list and one watch
//
// Counts the requests each generation makes, and how long a change takes to be noticed. See README.md.
#include <flyball/sdk.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

constexpr int kControllers = 50;
constexpr auto kPollEvery = 100ms;
constexpr auto kChangeEvery = 200ms;
constexpr auto kWindow = 4s;

using Steady = std::chrono::steady_clock;

// What every controller does with what it sees: the newest change, and how late it saw it.
class Observer {
 public:
  void See(const ConfigMap& object) {
    const auto at = object.data.find("at");
    if (object.metadata.name != "news" || at == object.data.end()) return;
    const long long stamp = std::stoll(at->second);
    long long known = newest_.load();
    while (known < stamp)
      if (newest_.compare_exchange_weak(known, stamp)) {
        late_ns_ += Steady::now().time_since_epoch().count() - stamp;
        ++seen_;
        return;
      }
  }
  long seen() const { return seen_; }
  double late_ms() const {
    return seen_ ? static_cast<double>(late_ns_) / 1e6 / static_cast<double>(seen_) : 0;
  }

 private:
  std::atomic<long long> newest_{0}, late_ns_{0};
  std::atomic<long> seen_{0};
};

// A connection with a count of its own.
struct Wire {
  explicit Wire(const ClientConfig& config)
      : machinery("sdk", 2),
        runtime{.executor = machinery, .random = Random::System(), .metrics = metrics},
        client(*NewRestClient(config, runtime)) {}
  long requests() { return static_cast<long>(client.rest().requests()); }

  Metrics metrics;
  ThreadPool machinery;
  Runtime runtime;
  Client client;
};

// Changes the ConfigMap until destroyed; its requests are not counted with anybody's.
class Writer {
 public:
  explicit Writer(const ClientConfig& config)
      : wire_(config), thread_([this](std::stop_token stop) { Run(stop); }) {}

 private:
  void Run(std::stop_token stop) {
    while (!stop.stop_requested()) {
      ConfigMap news{.data = {{"at", std::to_string(Steady::now().time_since_epoch().count())}}};
      news.metadata.name = "news";
      news.metadata.namespace_ = "default";
      if (auto written = wire_.client.Apply(news, {.field_manager = "writer", .force = true}); !written)
        std::fprintf(stderr, "%s\n", written.error().message().c_str());
      std::this_thread::sleep_for(kChangeEvery);
    }
  }
  Wire wire_;
  std::jthread thread_;
};

// Each controller is a thread that lists, looks, and sleeps.
void Poll(Wire& wire, Observer& observer) {
  std::vector<std::jthread> controllers;
  for (int i = 0; i < kControllers; ++i)
    controllers.emplace_back([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        if (auto list = wire.client.List<ConfigMap>("default"))
          for (const ConfigMap& object : list->items) observer.See(object);
        std::this_thread::sleep_for(kPollEvery);
      }
    });
  std::this_thread::sleep_for(kWindow);
}

EventHandler<ConfigMap> Handler(Observer& observer) {
  using Ptr = std::shared_ptr<const ConfigMap>;
  return {.on_add = [&observer](const Ptr& object, bool) { observer.See(*object); },
          .on_update = [&observer](const Ptr&, const Ptr& object) { observer.See(*object); }};
}

void OwnInformers(Wire& wire, Observer& observer) {
  std::vector<std::unique_ptr<InformerFactory>> factories;
  for (int i = 0; i < kControllers; ++i) {
    factories.push_back(std::make_unique<InformerFactory>(wire.client));
    factories.back()->For<ConfigMap>().AddHandler(Handler(observer));
    factories.back()->Start();
  }
  std::this_thread::sleep_for(kWindow);
}

void SharedInformers(Wire& wire, Observer& observer) {
  InformerFactory factory(wire.client);
  for (int i = 0; i < kControllers; ++i) factory.For<ConfigMap>().AddHandler(Handler(observer));
  factory.Start();
  std::this_thread::sleep_for(kWindow);
}

void Measure(const char* name, const ClientConfig& config,
             const std::function<void(Wire&, Observer&)>& generation) {
  Observer observer;
  Wire wire(config);
  generation(wire, observer);
  const long requests = wire.requests();
  const double seconds = std::chrono::duration<double>(kWindow).count();
  std::printf("%-16s %11d %9ld %11.1f %12ld %14.1f\n", name, kControllers, requests,
              static_cast<double>(requests) / seconds, observer.seen(), observer.late_ms());
  std::fflush(stdout);
  wire.machinery.Stop();
}

int main(int argc, char** argv) {
  const auto config = LoadConfig({.path = argc > 1 ? argv[1] : ""});
  if (!config) {
    std::fprintf(stderr, "error: %s\nusage: %s [KUBECONFIG]\n", config.error().message().c_str(), argv[0]);
    return 1;
  }
  const Writer writer(*config);
  std::printf("%-16s %11s %9s %11s %12s %14s\n", "generation", "controllers", "requests", "requests/s",
              "changes seen", "noticed, ms");
  Measure("polling", *config, &Poll);
  Measure("own informer", *config, &OwnInformers);
  Measure("shared informer", *config, &SharedInformers);
}
