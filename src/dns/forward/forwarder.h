// Forwarder: answers from elsewhere, with a cache.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/observe/metrics.h"
#include "dns/forward/answer_cache.h"
#include "dns/forward/exchange.h"

namespace flyball::dns {

struct ForwardOptions {
  std::vector<Upstream> upstreams{};
  std::size_t cache_bytes = 8u << 20;
  Duration try_timeout = std::chrono::seconds(2);  // per upstream and try; the C library gives up after 5 s
};

// Upstreams are asked in their order; one that did not answer goes to the end for a while. One that answers
// ServFail or Refused is passed over if there is another. The same question, asked again while it is under
// way, waits for the same answer.
//
// Loops: an upstream that leads back here would be asked for ever. At the start, and when an upstream does
// not answer, it is asked for a name that nobody else knows; if that question comes in here (TakeProbe), the
// upstream is not used any more.
//
// Bounds: kMaxUnderWay questions, kMaxWaiting callers, cache_bytes of answers; what is beyond fails at once.
// Confined to the loop.
class Forwarder {
 public:
  static constexpr std::size_t kMaxUnderWay = 2000;
  static constexpr std::size_t kMaxWaiting = 20000;

  Forwarder(std::shared_ptr<net::IoLoop> loop, Random& random, Metrics& metrics, ForwardOptions options);
  ~Forwarder();

  struct Asked {
    Question question{};
    bool dnssec_ok = false, checking_disabled = false;
  };
  using Done = UniqueFunction<void(Result<std::shared_ptr<const UpstreamAnswer>>)>;
  // `done` runs once: within the call if the answer is cached, or nothing can be asked.
  void Resolve(const Asked& asked, Done done);

  // Asks every upstream whether it leads back here.
  void ProbeForLoops();
  // True if the name is one of ours, sent to find loops.
  bool TakeProbe(const Name& name);

  std::size_t under_way() const { return pending_.size(); }
  std::size_t cached_bytes() const { return cache_.bytes(); }

 private:
  struct Counters;
  struct Pending;
  struct Server {
    Upstream upstream;
    SteadyTime failed{};  // of the last time
    bool loops = false;
    std::optional<Name> probe{};
    SteadyTime probed{};
  };

  void TryNext(const std::shared_ptr<Pending>& pending);
  void OnAnswer(const std::shared_ptr<Pending>& pending, std::size_t server, SteadyTime sent,
                Result<Message> result);
  void Finish(const std::shared_ptr<Pending>& pending, Result<Message> result);
  void MarkFailed(std::size_t server);
  void Probe(Server& server);
  std::vector<std::size_t> Order() const;

  const ForwardOptions options_;
  const std::shared_ptr<ExchangeContext> context_;
  const std::unique_ptr<Counters> counters_;
  std::vector<Server> servers_;
  AnswerCache cache_;
  std::unordered_map<std::string, std::shared_ptr<Pending>> pending_;
  std::size_t waiting_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace flyball::dns
