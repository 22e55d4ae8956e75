// The name server: what a question costs, from the packet to its answer, and over UDP sockets of this
// machine.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "dns/server/dns_server.h"
#include "dns/testing/dns_client.h"
#include "dns/testing/zone_objects.h"

namespace flyball::dns {
namespace {

constexpr int kServices = 10000;

std::string ServiceName(int i) {
  return "service-" + std::to_string(i);
}

void Fill(Zone& zone) {
  zone.SetNamespace("default", true);
  for (int i = 0; i < kServices; ++i) {
    const std::string ip = "10.96." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    zone.SetService("default", ServiceName(i),
                    RecordsOf(ClusterService("default", ServiceName(i), {ip}), {}));
  }
  std::vector<Endpoint> endpoints;
  for (int i = 0; i < 1000; ++i)
    endpoints.push_back(ReadyEndpoint("10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1),
                                      "db-" + std::to_string(i)));
  zone.SetService("default", "db",
                  RecordsOf(ClusterService("default", "db", {"None"}), {SliceOf(endpoints)}));
  zone.SetSynced(true);
}

struct BenchServer {
  BenchServer() { Fill(zone); }
  Random random{1};
  Metrics metrics;
  Zone zone{{}, random};
  Responder responder{zone, nullptr, PrivateRanges(), {}, RealClock(), random, metrics};
};

void AskInProcess(benchmark::State& state, const std::string& name, std::uint16_t type, Transport transport) {
  static auto& server = *new BenchServer;
  const std::string packet = Encode(QueryOf(name, type), 512);
  const Asker asker{.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, .transport = transport};
  std::size_t bytes = 0;
  for (auto _ : state)
    server.responder.Answer(packet, asker, [&](const std::string& answer) { bytes += answer.size(); });
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  benchmark::DoNotOptimize(bytes);
}

void BM_ServiceAddress(benchmark::State& state) {
  AskInProcess(state, "service-4711.default.svc.cluster.local.", kTypeA, Transport::kUdp);
}
BENCHMARK(BM_ServiceAddress);

void BM_NoSuchName(benchmark::State& state) {
  AskInProcess(state, "kubernetes.default.svc.cluster.local.default.svc.cluster.local.", kTypeA,
               Transport::kUdp);
}
BENCHMARK(BM_NoSuchName);

void BM_NamedPort(benchmark::State& state) {
  AskInProcess(state, "_https._tcp.service-4711.default.svc.cluster.local.", kTypeSrv, Transport::kUdp);
}
BENCHMARK(BM_NamedPort);

void BM_HostOfThousand(benchmark::State& state) {
  AskInProcess(state, "db-777.db.default.svc.cluster.local.", kTypeA, Transport::kUdp);
}
BENCHMARK(BM_HostOfThousand);

void BM_ThousandAddressesByTcp(benchmark::State& state) {
  AskInProcess(state, "db.default.svc.cluster.local.", kTypeA, Transport::kTcp);
}
BENCHMARK(BM_ThousandAddressesByTcp);

// A window of questions is always under way, so that the server's one thread is what limits.
void BM_OverUdp(benchmark::State& state) {
  static Metrics metrics;
  DnsServerOptions options{.port = 0};
  const auto server = std::move(*DnsServer::Start(options, Random::System(), metrics));
  server->Change(&Fill);
  UdpClient client(server->port());
  Message query = QueryOf("kubernetes.default.svc.cluster.local.", kTypeA);
  constexpr int kWindow = 64;
  int next = 0;
  const auto send = [&] {
    query.question->name = *Name::FromText(ServiceName(next++ % kServices) + ".default.svc.cluster.local.");
    client.Send(Encode(query, 512));
  };
  for (int i = 0; i < kWindow; ++i) send();
  // The first answer waits until the zone is filled.
  if (client.Receive().empty()) return state.SkipWithError("no answer at all");
  send();
  for (auto _ : state) {
    if (client.Receive().empty()) return state.SkipWithError("an answer is missing");
    send();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(BM_OverUdp)->UseRealTime();

}  // namespace
}  // namespace flyball::dns
