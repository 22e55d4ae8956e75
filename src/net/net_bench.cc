// Measures this module alone: `net_bench [requests|fanout|idle]`. Server and client share the process, so CPU
// is told apart by thread. Figures of one run are in docs/net.md.
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/run/notification.h"
#include "net/client/http_client.h"
#include "net/server/http_server.h"
#include "net/testing/raw_socket.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

namespace flyball::net {
namespace {

double Seconds() {
  return std::chrono::duration<double>(RealClock().Steady().time_since_epoch()).count();
}

// CPU seconds of all threads whose name starts so.
double CpuOf(const std::string& prefix) {
  double total = 0;
  DIR* dir = opendir("/proc/self/task");
  while (const dirent* entry = readdir(dir)) {
    const std::string base = std::string("/proc/self/task/") + entry->d_name;
    std::string name, stat;
    std::getline(std::ifstream(base + "/comm"), name);
    if (name.rfind(prefix, 0) != 0) continue;
    std::getline(std::ifstream(base + "/stat"), stat);
    unsigned long user = 0, system = 0;
    std::sscanf(stat.c_str() + stat.rfind(')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                &user, &system);
    total += static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  closedir(dir);
  return total;
}

long ResidentKb() {
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

struct Bench {
  explicit Bench(Handler handler) {
    const TimePoint now = RealClock().Now();
    const auto day = std::chrono::hours(24);
    ca = *MakeCertificateAuthority("ca", now, day);
    const auto pair =
        *IssueCertificate(ca, {.common_name = "s", .ip_addresses = {"127.0.0.1"}, .server = true}, now, day);
    tls = {pair.certificate_pem, pair.private_key_pem, ca.certificate_pem};
    ServerOptions options;
    options.tls = &tls;
    options.limits.max_connections = 100000;
    server = std::move(*HttpServer::Start(options, std::move(handler)));
  }
  std::unique_ptr<Transport> Client(bool http2, int threads = 1) const {
    ClientOptions options;
    options.url = "https://127.0.0.1:" + std::to_string(server->port());
    options.tls.ca_pem = ca.certificate_pem;
    options.http2 = http2;
    options.io_threads = threads;
    return std::move(*NewHttpClient(options));
  }
  KeyPair ca;
  ServerTls tls;
  std::unique_ptr<HttpServer> server;
};

// Keeps one request under way; starts the next when one ends.
class Loop final : public ResponseSink, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Transport& transport, std::atomic<long>& left, std::atomic<int>& running, Notification<bool>& done)
      : transport_(transport), left_(left), running_(running), done_(done) {}
  void Next() {
    if (left_.fetch_sub(1) > 0) {
      transport_.Start(
          {.target = "/api/v1/namespaces/default/configmaps/x", .headers = {{"accept", "application/json"}}},
          shared_from_this());
    } else if (running_.fetch_sub(1) == 1) {
      done_.Set(true);
    }
  }
  void OnHead(int, const Headers&) override {}
  void OnData(std::string_view) override {}
  void OnEnd() override { Next(); }
  void OnError(const Error& error) override {
    std::printf("failed: %s\n", error.ToString().c_str());
    Next();
  }

 private:
  Transport& transport_;
  std::atomic<long>& left_;
  std::atomic<int>& running_;
  Notification<bool>& done_;
};

void Requests(bool http2, int clients, bool shared_connection) {
  const std::string body(1000, 'x');
  Bench bench([&body](auto, std::shared_ptr<ResponseStream> answer) -> Task<void> {
    answer->Send(200, {{"content-type", "application/json"}, {"audit-id", "0f2a"}}, body);
    co_return;
  });
  std::vector<std::unique_ptr<Transport>> transports;
  for (int i = 0; i < (shared_connection ? 1 : clients); ++i) transports.push_back(bench.Client(http2));
  constexpr long kTotal = 100'000;
  std::atomic<long> left{kTotal};
  std::atomic<int> running{clients};
  Notification<bool> done;
  const double begin = Seconds(), server = CpuOf("io-server"), client = CpuOf("io-client");
  std::vector<std::shared_ptr<Loop>> loops;
  for (int i = 0; i < clients; ++i) {
    loops.push_back(std::make_shared<Loop>(*transports[static_cast<std::size_t>(i) % transports.size()], left,
                                           running, done));
    loops.back()->Next();
  }
  done.Wait();
  const double wall = Seconds() - begin;
  std::printf("get 1 KB  %s, %3d clients, %s: %8.0f/s   server %.1f us, client %.1f us CPU each\n",
              http2 ? "h2" : "h1", clients, shared_connection ? "one connection " : "own connections",
              kTotal / wall, (CpuOf("io-server") - server) / kTotal * 1e6,
              (CpuOf("io-client") - client) / kTotal * 1e6);
}

class CountingSink final : public ResponseSink {
 public:
  CountingSink(std::atomic<long>& heads, std::atomic<long>& bytes) : heads_(heads), bytes_(bytes) {}
  void OnHead(int, const Headers&) override { ++heads_; }
  void OnData(std::string_view data) override {
    bytes_.fetch_add(static_cast<long>(data.size()), std::memory_order_relaxed);
  }
  void OnEnd() override {}
  void OnError(const Error&) override {}

 private:
  std::atomic<long>&heads_, &bytes_;
};

void FanOut(bool http2, int total, int batch) {
  Mutex mu;
  std::vector<std::shared_ptr<ResponseStream>> watchers;
  Bench bench([&](auto, std::shared_ptr<ResponseStream> answer) -> Task<void> {
    answer->Begin(200, {{"content-type", "application/json"}});
    MutexLock lock(mu);
    watchers.push_back(std::move(answer));
    co_return;
  });
  std::atomic<long> heads{0}, bytes{0};
  auto transport = bench.Client(http2);
  for (int i = 0; i < total; ++i)
    transport->Start({.target = "/watch"}, std::make_shared<CountingSink>(heads, bytes));
  while (heads < total) SleepFor(std::chrono::milliseconds(1));
  const Bytes event = MakeBytes(std::string(300, 'e'));
  const int events = 1'000'000 / total;
  const double begin = Seconds(), server = CpuOf("io-server"), client = CpuOf("io-client");
  double publisher = -CpuOf("net_bench");
  for (int i = 0; i < events; ++i) {
    for (auto& watcher : watchers) watcher->Write(event);
    // As a store would: a batch of writes is published together, then the next is waited for.
    if (i % batch == batch - 1)
      while (bytes < static_cast<long>(i + 1 - 2 * batch) * total * static_cast<long>(event->size()))
        SleepFor(std::chrono::microseconds(100));
  }
  while (bytes < static_cast<long>(events) * total * static_cast<long>(event->size()))
    SleepFor(std::chrono::microseconds(100));
  const double wall = Seconds() - begin;
  publisher += CpuOf("net_bench");
  const double n = static_cast<double>(events) * total;
  std::printf(
      "fan-out 300 B to %d %s, batches of %2d: %8.0f events/s   CPU each: publisher %.2f us, server %.2f us, "
      "client %.2f us\n",
      total, http2 ? "h2 streams" : "h1 connections", batch, n / wall, publisher / n * 1e6,
      (CpuOf("io-server") - server) / n * 1e6, (CpuOf("io-client") - client) / n * 1e6);
  for (auto& watcher : watchers) watcher->End();
  watchers.clear();
}

// A request in HTTP/2, as bytes: preface, empty SETTINGS, HEADERS of "GET https / x".
std::string H2Request() {
  const std::string block = "\x82\x87\x84\x41\x01x";
  std::string out = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  out += std::string("\0\0\0\x04\0\0\0\0\0", 9);
  out += std::string("\0\0", 2) + static_cast<char>(block.size()) + std::string("\x01\x05\0\0\0\x01", 6);
  return out + block;
}

void AwaitReadable(int fd, TlsStream& tls) {
  pollfd wait{fd, POLLIN, 0};
  poll(&wait, 1, -1);
  tls.OnReadable();
}

// In a process of its own, so that the server's memory can be told: opens connections, makes a request on
// each, waits.
[[noreturn]] void RunIdleClients(int commands, int answers, bool http2) {
  auto context = *TlsContext::ForClient({.insecure_skip_verify = true}, http2);
  const std::string request = http2 ? H2Request() : "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<std::unique_ptr<TlsStream>> streams;
  std::vector<RawSocket> sockets;
  int port_and_count[2];
  while (read(commands, port_and_count, sizeof port_and_count) == sizeof port_and_count) {
    for (int i = 0; i < port_and_count[1]; ++i) {
      sockets.emplace_back(port_and_count[0]);
      streams.push_back(std::move(*TlsStream::New(context, sockets.back().fd(), "x")));
      TlsStream& tls = *streams.back();
      RawSocket& socket = sockets.back();
      fcntl(socket.fd(), F_SETFL, O_NONBLOCK);
      for (;;) {
        std::string out;
        const auto step = tls.Handshake(out);
        socket.Send(out);
        if (step != TlsStream::Step::kWantRead) break;
        AwaitReadable(socket.fd(), tls);
      }
      std::string out;
      tls.Write(request, out);
      socket.Send(out);
      char buffer[4096];
      for (long got = 0; got < 1000;) {
        const long n = tls.Read(buffer, sizeof buffer, out);
        if (n < 0) std::abort();
        if (n == 0) AwaitReadable(socket.fd(), tls);
        got += n;
      }
    }
    if (write(answers, "k", 1) != 1) break;
  }
  _exit(0);
}

void Idle(bool http2, int connections) {
  int commands[2], answers[2];
  if (pipe(commands) != 0 || pipe(answers) != 0) return;
  const int child = fork();
  if (child == 0) {
    close(commands[1]);
    RunIdleClients(commands[0], answers[1], http2);
  }
  Bench bench([](auto, std::shared_ptr<ResponseStream> answer) -> Task<void> {
    answer->Send(200, {{"content-type", "application/json"}}, std::string(1000, 'x'));
    co_return;
  });
  const auto open = [&](int count) {
    const int command[2] = {bench.server->port(), count};
    char answer = 0;
    if (write(commands[1], command, sizeof command) != sizeof command || read(answers[0], &answer, 1) != 1)
      std::abort();
    malloc_trim(0);
    return ResidentKb();
  };
  const long before = open(100);
  const double begin = Seconds(), cpu = CpuOf("io-server");
  const long after = open(connections);
  std::printf(
      "idle after one request, %s: %.1f KB a connection (%d of them); opening one took %.0f us of server "
      "CPU, %.0f us\n",
      http2 ? "h2" : "h1", static_cast<double>(after - before) / connections, connections,
      (CpuOf("io-server") - cpu) / connections * 1e6, (Seconds() - begin) / connections * 1e6);
  close(commands[1]);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace flyball::net

int main(int argc, char** argv) {
  using namespace flyball::net;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "all" || what == "requests") {
    Requests(true, 16, true);
    Requests(true, 16, false);
    Requests(false, 16, false);
    Requests(true, 1, true);
  }
  if (what == "all" || what == "fanout") {
    for (const int batch : {1, 10}) {
      FanOut(false, 1000, batch);
      FanOut(true, 1000, batch);
    }
  }
  if (what == "all" || what == "idle") {
    Idle(false, 2000);
    Idle(true, 2000);
  }
}
