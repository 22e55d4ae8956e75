// DnsServer: the cluster's name server on UDP and TCP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dns/server/responder.h"
#include "net/server/tcp_server.h"

namespace flyball::dns {

struct DnsServerOptions {
  std::vector<std::string> addresses = {"127.0.0.1"};
  int port = 53;  // 0: any free one, the same for UDP and TCP
  ZoneOptions zone{};
  ForwardOptions forward{};
  std::vector<api::Cidr> allow = PrivateRanges();
  ResponseBudget::Limits udp_budget{};  // of one client, for long answers
  std::size_t max_tcp_connections = 1000;
};

// Thread-safe. One thread does everything: zone, cache, sockets.
class DnsServer {
 public:
  // Listening when it returns, in the network namespace of the calling thread; upstreams are asked from the
  // one that the program started in. Answers about the cluster are ServFail until the zone is synced.
  // `random` and `metrics` outlive it.
  static Result<std::unique_ptr<DnsServer>> Start(DnsServerOptions options, Random& random, Metrics& metrics);
  ~DnsServer();

  int port() const;
  // Runs fn where the zone lives, in the order of the calls.
  void Change(std::function<void(Zone&)> fn);
  bool synced() const;

 private:
  struct State;
  explicit DnsServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace flyball::dns
