// Sends `flyball apiserver` the worst requests of up to 3 MB that we can think of, one at a time, and prints
// how long each takes and how long /healthz takes meanwhile.
//
//   adversarial_bench [--program FILE] [--folder DIR] [--only TEXT]
//
// --only: attacks whose name contains the text (what they need is made all the same). The status is 1 if one
// takes more than a second, or /healthz more than 20 ms in more than one of a hundred requests.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "attack.h"
#include "base/run/thread.h"
#include "bench/server/load.h"
#include "bench/server/measured_server.h"

namespace flyball::bench {

net::Request MakeRequest(std::string method, std::string target, std::string body, std::string type) {
  net::Request request{.method = std::move(method), .target = std::move(target)};
  request.headers = {{"accept", "application/json"},
                     {"content-type", std::move(type)},
                     {"user-agent", "adversarial_bench/1.0"}};
  request.body = std::move(body);
  return request;
}

std::string Repeated(long count, const std::function<std::string(long)>& piece, std::string_view separator,
                     std::size_t bytes) {
  std::string out;
  for (long i = 0; i < count; ++i) {
    const std::string next = piece(i);
    if (out.size() + next.size() + separator.size() > bytes) break;
    if (i > 0) out += separator;
    out += next;
  }
  return out;
}

namespace {

constexpr double kMaxSeconds = 1.0, kMaxHealthMs = 20.0;

struct Settings {
  std::string program = "build-release/flyball";
  std::string folder = ".";
  std::string only{};
};

// Asks for /healthz again and again, on a connection of its own, until it is destroyed.
class HealthProbe {
 public:
  explicit HealthProbe(const MeasuredServer& server) : client_(server.NewClient(false)) {
    thread_ = Thread("health", [this] {
      while (!stop_) {
        const auto answer = Ask(*client_, MakeRequest("GET", "/healthz"));
        took_.push_back(answer.took);
        if (answer.status != 200) ++failed_;
        SleepFor(std::chrono::milliseconds(1));
      }
    });
  }
  std::vector<Duration> Finish() {
    stop_ = true;
    thread_.Join();
    return std::move(took_);
  }
  int failed() const { return failed_; }

 private:
  std::unique_ptr<net::Transport> client_;
  std::atomic<bool> stop_{false};
  std::vector<Duration> took_;
  std::atomic<int> failed_{0};
  Thread thread_;
};

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings), server_(settings.program, settings.folder), client_(server_.NewClient(false)) {
    std::printf("%-62s %8s %6s %10s %12s %10s %8s\n", "attack", "seconds", "status", "answer KB",
                "healthz p99", "max ms", "RSS MB");
    // No controller runs that would make it, and without it no pod gets as far as validation.
    Prepare(MakeRequest("POST", "/api/v1/namespaces/default/serviceaccounts",
                        R"({"metadata":{"name":"default"}})"));
  }

  void Run(const Attack& attack) {
    for (const auto& request : attack.before) Prepare(request);
    if (attack.name.find(settings_.only) == std::string::npos) return;
    HealthProbe probe(server_);
    SleepFor(std::chrono::milliseconds(20));
    const auto answer = Ask(*client_, attack.request, false);
    auto health = probe.Finish();
    const double seconds = Milliseconds(answer.took) / 1000, p99 = QuantileMs(health, 0.99);
    const bool bad = seconds > kMaxSeconds || p99 > kMaxHealthMs || answer.status == 0 || probe.failed() > 0;
    if (bad) ++missed_;
    std::printf("%-62s %8.3f %6d %10.1f %12.2f %10.2f %8.0f%s\n", attack.name.c_str(), seconds, answer.status,
                static_cast<double>(answer.bytes) / 1000, p99, Milliseconds(health.back()),
                server_.ResidentMb(), bad ? "  <<<" : "");
    std::fflush(stdout);
    worst_seconds_ = std::max(worst_seconds_, seconds);
    all_health_.insert(all_health_.end(), health.begin(), health.end());
  }

  int Finish() {
    std::printf("worst %.3f s, /healthz p99 %.2f ms over all, %d missed\n", worst_seconds_,
                QuantileMs(all_health_, 0.99), missed_);
    return missed_ > 0 ? 1 : 0;
  }

 private:
  void Prepare(const net::Request& request) {
    const auto made = Ask(*client_, request);
    if (made.status >= 300 || made.status == 0)
      std::printf("  (before: %s %s: %d %s)\n", request.method.c_str(), request.target.substr(0, 60).c_str(),
                  made.status, made.text.substr(0, 200).c_str());
  }

  const Settings settings_;
  MeasuredServer server_;
  std::unique_ptr<net::Transport> client_;
  double worst_seconds_ = 0;
  int missed_ = 0;
  std::vector<Duration> all_health_;
};

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--program") settings.program = argv[i + 1];
    if (flag == "--folder") settings.folder = argv[i + 1];
    if (flag == "--only") settings.only = argv[i + 1];
  }
  Bench bench(settings);
  for (const auto& attacks :
       {PatchAttacks, ObjectAttacks, TextAttacks, SchemaAttacks, ReadAttacks, AccessAttacks})
    for (const auto& attack : attacks()) bench.Run(attack);
  return bench.Finish();
}

}  // namespace
}  // namespace flyball::bench

int main(int argc, char** argv) {
  return flyball::bench::Main(argc, argv);
}
