#include "dns/forward/forwarder.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::dns {
namespace {

// An upstream that failed is asked last for so long.
constexpr Duration kPenalty = std::chrono::seconds(10);
constexpr Duration kBetweenProbes = std::chrono::seconds(30);
// The size that crosses the Internet unfragmented (DNS flag day 2020).
constexpr std::uint16_t kUdpSize = 1232;
constexpr std::size_t kMinTries = 2, kMaxTries = 3;
constexpr char kProbeDomain[] = "loop-check.flyball.invalid.";

std::string KeyOf(const Forwarder::Asked& asked) {
  std::string key = asked.question.name.Key();
  for (const std::uint16_t part : {asked.question.type, asked.question.klass}) {
    key += static_cast<char>(part >> 8);
    key += static_cast<char>(part & 0xff);
  }
  key += static_cast<char>(asked.dnssec_ok * 2 + asked.checking_disabled);
  return key;
}

Message QueryFor(const Forwarder::Asked& asked) {
  Message query;
  query.recursion_desired = true;
  query.checking_disabled = asked.checking_disabled;
  query.question = asked.question;
  query.edns = Edns{.udp_size = kUdpSize, .dnssec_ok = asked.dnssec_ok};
  return query;
}

// Another upstream may know better.
bool Unhelpful(const Message& message) {
  return message.rcode == kServFail || message.rcode == kRefused || message.rcode == kNotImp;
}

}  // namespace

struct Forwarder::Counters {
  explicit Counters(Metrics& m) : metrics(m) {}
  Counter& CacheHits(bool denial) {
    return metrics.GetCounter("coredns_cache_hits_total", "The count of cache hits.",
                              {{"type", denial ? "denial" : "success"}});
  }
  Histogram& Requests(const std::string& to, const std::string& rcode) {
    return metrics.GetHistogram("coredns_proxy_request_duration_seconds",
                                "Histogram of the time each request took.",
                                {0.00025, 0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096},
                                {{"to", to}, {"rcode", rcode}, {"proxy_name", "forward"}});
  }

  Metrics& metrics;
  Counter& hits = CacheHits(false);
  Counter& denials = CacheHits(true);
  Counter& misses = metrics.GetCounter("coredns_cache_misses_total", "The count of cache misses.");
  Gauge& bytes = metrics.GetGauge("flyball_dns_cache_bytes", "Memory that cached answers take, roughly.");
  Gauge& entries = metrics.GetGauge("coredns_cache_entries", "The number of elements in the cache.");
  Gauge& looping = metrics.GetGauge("flyball_dns_looping_upstreams", "Upstreams that lead back here.");
  Counter& rejected = metrics.GetCounter("coredns_forward_max_concurrent_rejects_total",
                                         "Counter of the number of queries rejected because the concurrent "
                                         "queries were at maximum.");
};

// One question under way, and who waits for it.
struct Forwarder::Pending {
  std::string key;
  Asked asked;
  std::vector<std::size_t> order;  // servers that are left to try
  std::vector<Done> waiting;
  Result<Message> last = Unexpected(Error(Reason::kServiceUnavailable, "there is no upstream to ask"));
};

Forwarder::Forwarder(std::shared_ptr<net::IoLoop> loop, Random& random, Metrics& metrics,
                     ForwardOptions options)
    : options_(std::move(options)),
      context_(new ExchangeContext{loop, random, net::TcpDialer(options_.try_timeout, loop)}),
      counters_(std::make_unique<Counters>(metrics)),
      cache_(options_.cache_bytes) {
  for (const Upstream& upstream : options_.upstreams) servers_.push_back({.upstream = upstream});
}

Forwarder::~Forwarder() {
  *alive_ = false;
}

void Forwarder::Resolve(const Asked& asked, Done done) {
  const std::string key = KeyOf(asked);
  const SteadyTime now = context_->loop->clock().Steady();
  if (auto cached = cache_.Find(key, now)) {
    (cached->message.answers.empty() ? counters_->denials : counters_->hits).Add();
    return done(std::move(cached));
  }
  counters_->misses.Add();
  const auto found = pending_.find(key);
  if (waiting_ >= kMaxWaiting || (found == pending_.end() && pending_.size() >= kMaxUnderWay)) {
    counters_->rejected.Add();
    return done(Unexpected(Error(Reason::kTooManyRequests, "too many questions are under way")));
  }
  ++waiting_;
  if (found != pending_.end()) return found->second->waiting.push_back(std::move(done));
  auto pending = std::make_shared<Pending>(Pending{.key = key, .asked = asked, .order = Order()});
  pending->waiting.push_back(std::move(done));
  pending_.emplace(key, pending);
  TryNext(pending);
}

// Those that have not failed lately first. A single one is asked twice: datagrams get lost.
std::vector<std::size_t> Forwarder::Order() const {
  const SteadyTime now = context_->loop->clock().Steady();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (!servers_[i].loops) order.push_back(i);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
    return servers_[i].failed == SteadyTime{} || now - servers_[i].failed > kPenalty;
  });
  for (std::size_t i = 0; !order.empty() && order.size() < kMinTries; ++i) order.push_back(order[i]);
  if (order.size() > kMaxTries) order.resize(kMaxTries);
  return order;
}

void Forwarder::TryNext(const std::shared_ptr<Pending>& pending) {
  if (pending->order.empty()) return Finish(pending, std::move(pending->last));
  const std::size_t server = pending->order.front();
  pending->order.erase(pending->order.begin());
  const SteadyTime sent = context_->loop->clock().Steady();
  AskUpstream(context_, servers_[server].upstream, QueryFor(pending->asked), options_.try_timeout,
              [this, alive = alive_, pending, server, sent](Result<Message> result) {
                if (*alive) OnAnswer(pending, server, sent, std::move(result));
              });
}

void Forwarder::OnAnswer(const std::shared_ptr<Pending>& pending, std::size_t server, SteadyTime sent,
                         Result<Message> result) {
  const auto took = std::chrono::duration<double>(context_->loop->clock().Steady() - sent);
  counters_->Requests(servers_[server].upstream.ToString(), result ? RcodeName(result->rcode) : "TIMEOUT")
      .Observe(took.count());
  if (!result)
    MarkFailed(server);
  else
    servers_[server].failed = {};
  const bool done = result && !Unhelpful(*result);
  // An answer, even an unhelpful one, is better than a time-out.
  if (result || !pending->last) pending->last = std::move(result);
  if (done) pending->order.clear();
  TryNext(pending);
}

void Forwarder::Finish(const std::shared_ptr<Pending>& pending, Result<Message> result) {
  const SteadyTime now = context_->loop->clock().Steady();
  pending_.erase(pending->key);
  waiting_ -= pending->waiting.size();
  std::shared_ptr<const UpstreamAnswer> answer;
  if (result) {
    answer = std::make_shared<const UpstreamAnswer>(UpstreamAnswer{std::move(*result), now});
    cache_.Add(pending->key, answer, now);
    counters_->bytes.Set(static_cast<double>(cache_.bytes()));
    counters_->entries.Set(static_cast<double>(cache_.size()));
  }
  for (Done& done : std::exchange(pending->waiting, {})) {
    if (answer)
      done(answer);
    else
      done(Unexpected(result.error()));
  }
}

void Forwarder::MarkFailed(std::size_t server) {
  const SteadyTime now = context_->loop->clock().Steady();
  Server& failed = servers_[server];
  failed.failed = now;
  if (now - failed.probed > kBetweenProbes) Probe(failed);
}

void Forwarder::ProbeForLoops() {
  for (Server& server : servers_) Probe(server);
}

void Forwarder::Probe(Server& server) {
  server.probed = context_->loop->clock().Steady();
  std::string label;
  for (int i = 0; i < 2; ++i) label += std::to_string(context_->random.Next());
  server.probe = Name::FromText(label + "." + kProbeDomain);
  // Whatever it says is no news; that it does not come in here is.
  AskUpstream(context_, server.upstream, QueryFor({.question = {.name = *server.probe, .type = kTypeTxt}}),
              options_.try_timeout, [](const Result<Message>&) {});
}

bool Forwarder::TakeProbe(const Name& name) {
  static const Name kDomain = *Name::FromText(kProbeDomain);
  if (!name.IsWithin(kDomain)) return false;
  for (Server& server : servers_) {
    if (server.probe != name || std::exchange(server.loops, true)) continue;
    counters_->looping.Add(1);
    log::Error("an upstream name server leads back to this one and is not asked any more",
               {{"upstream", server.upstream.ToString()}});
  }
  return true;
}

}  // namespace flyball::dns
