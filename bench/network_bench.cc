// What Services cost a node: 10,000 Services with 100,000 endpoints from scratch, and one change among them.
// Works on the kernel, in a network namespace of its own. Needs root. Prints the figures and what they should
// stay below; exit status 1 if one does not.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "network/nft/nftables.h"
#include "network/services/service_table.h"

namespace flyball::network {
namespace {

constexpr int kServices = 10'000, kEndpoints = 10, kChanges = 50;
constexpr double kFullSeconds = 3, kChangeSeconds = 0.010;

std::string Address(int first, int number) {
  return std::to_string(first) + "." + std::to_string(number >> 16 & 255) + "." +
         std::to_string(number >> 8 & 255) + "." + std::to_string(number & 255);
}

Service MakeService(int i) {
  Service service;
  service.metadata.namespace_ = "default";
  service.metadata.name = "service-" + std::to_string(i);
  service.spec.cluster_ip = Address(10, i + 1);
  service.spec.cluster_ips = {service.spec.cluster_ip};
  service.spec.ports.push_back({.name = "http", .protocol = "TCP", .port = 80});
  return service;
}

EndpointSlices MakeSlices(int i, int endpoints) {
  auto slice = std::make_shared<EndpointSlice>();
  slice->address_type = "IPv4";
  slice->ports.push_back({.name = "http", .protocol = "TCP", .port = 8080});
  for (int e = 0; e < endpoints; ++e)
    slice->endpoints.push_back({.addresses = {Address(20, i * 64 + e + 1)}});
  return {slice};
}

double SecondsOf(const std::function<void()>& work) {
  const SteadyTime start = RealClock().Steady();
  work();
  return std::chrono::duration<double>(RealClock().Steady() - start).count();
}

bool Report(const char* what, double seconds, double most) {
  std::printf("%-48s %9.1f ms   should stay below %.0f ms: %s\n", what, seconds * 1000, most * 1000,
              seconds < most ? "yes" : "NO");
  return seconds < most;
}

class Measurement {
 public:
  bool Run() {
    auto opened = Nftables::Open();
    if (!opened) return std::fprintf(stderr, "%s\n", opened.error().message().c_str()), false;
    nft_ = std::move(*opened);
    bool good = MeasureFull();
    good &= MeasureChanges("an endpoint that comes or goes", kEndpoints + 1);
    good &= MeasureChanges("a Service that loses its endpoints or gets them", 0);
    return good;
  }

 private:
  void Update(int i, int endpoints) {
    const std::string key = "default/service-" + std::to_string(i);
    table_.Update(key, BuildServiceRules(MakeService(i), MakeSlices(i, endpoints), table_.options(),
                                         {"node", ""}, {}, table_.RulesOf(key)));
  }
  void Apply(const std::string& text) {
    const Status done = nft_->Run(text);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message().substr(0, 1000).c_str());
  }
  bool MeasureFull() {
    const double plan = SecondsOf([&] {
      for (int i = 0; i < kServices; ++i) Update(i, kEndpoints);
    });
    std::string text;
    const double render = SecondsOf([&] { text = table_.RenderReplacement(""); });
    const double apply = SecondsOf([&] { Apply(text); });
    std::printf("%d Services, %d endpoints: plan %.0f ms, render %.0f ms (%.1f MB), nftables %.0f ms\n",
                kServices, kServices * kEndpoints, plan * 1000, render * 1000,
                static_cast<double>(text.size()) / 1e6, apply * 1000);
    return Report("everything from scratch", plan + render + apply, kFullSeconds);
  }
  // The median of changes to and fro.
  bool MeasureChanges(const char* what, int endpoints) {
    std::vector<double> times;
    for (int n = 0; n < kChanges; ++n)
      times.push_back(SecondsOf([&] {
        Update(n / 2, n % 2 ? kEndpoints : endpoints);
        Apply(table_.RenderChanges());
      }));
    std::sort(times.begin(), times.end());
    return Report(what, times[times.size() / 2], kChangeSeconds);
  }

  ServiceTable table_{{}};
  std::unique_ptr<Nftables> nft_;
};

}  // namespace
}  // namespace flyball::network

int main() {
  if (::unshare(CLONE_NEWNET) != 0) {
    std::perror("a network namespace of its own needs root");
    return 1;
  }
  return flyball::network::Measurement().Run() ? 0 : 1;
}
