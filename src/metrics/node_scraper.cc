#include "metrics/node_scraper.h"

#include <memory>
#include <vector>

#include "base/observe/log.h"
#include "base/run/notification.h"

namespace flyball::metrics {
namespace {

// Nodes that are asked at once.
constexpr std::size_t kAtOnce = 32;
// Upstream: metrics-server's kubelet-request-timeout.
constexpr Duration kAnswerTimeout = std::chrono::seconds(10);

using Answer = std::shared_ptr<Notification<Result<RestResponse>>>;

Answer Ask(const Client& client, const std::string& node) {
  auto answer = std::make_shared<Notification<Result<RestResponse>>>();
  RestRequest request;
  request.path = "/api/v1/nodes/" + PercentEncode(node) + "/proxy/metrics/resource";
  request.accept = "text/plain";
  request.timeout = kAnswerTimeout;
  request.max_retries = 0;
  client.rest().Start(std::move(request),
                      [answer](Result<RestResponse> result) { answer->Set(std::move(result)); });
  return answer;
}

}  // namespace

std::set<std::string> NodeScraper::Stale(const std::set<std::string>& nodes, bool soon) {
  const TimePoint now = client_.runtime().clock().Now();
  std::set<std::string> stale;
  MutexLock lock(mu_);
  std::erase_if(samples_, [&](const auto& entry) { return now - *entry.second.last() > kLongestWindow; });
  for (const std::string& node : nodes) {
    const auto known = samples_.find(node);
    const bool fresh = known != samples_.end() && now - *known->second.last() < kFresh;
    if (soon ? fresh && known->second.incomplete() : !fresh) stale.insert(node);
  }
  return stale;
}

void NodeScraper::Take(const std::string& node, const NodeSample& sample, bool soon) {
  if (!sample.node) return;
  MutexLock lock(mu_);
  samples_[node].Add(sample, soon);
}

bool NodeScraper::Refresh(const std::set<std::string>& nodes, bool soon) {
  MutexLock one_at_a_time(asking_);
  const auto stale = Stale(nodes, soon);
  const std::vector<std::string> wanted(stale.begin(), stale.end());
  for (std::size_t begin = 0; begin < wanted.size(); begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, wanted.size());
    std::vector<Answer> answers;
    for (std::size_t i = begin; i < end; ++i) answers.push_back(Ask(client_, wanted[i]));
    for (std::size_t i = begin; i < end; ++i) {
      const auto answer = answers[i - begin]->Wait();
      if (answer)
        Take(wanted[i], ParseResourceMetrics(answer->body, client_.runtime().clock().Now()), soon);
      else
        log::Warning("a node does not say what is used on it",
                     {{"node", wanted[i]}, {"error", answer.error().message()}});
    }
  }
  MutexLock lock(mu_);
  for (const std::string& node : nodes)
    if (const auto known = samples_.find(node); known != samples_.end() && known->second.incomplete())
      return true;
  return false;
}

UsageSamples NodeScraper::Samples(const std::string& node) const {
  MutexLock lock(mu_);
  const auto known = samples_.find(node);
  return known == samples_.end() ? UsageSamples() : known->second;
}

}  // namespace flyball::metrics
