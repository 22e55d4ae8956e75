// NodeScraper: asks nodes what is used on them, through the API server, and only when somebody wants to know.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/run/mutex.h"
#include "client/client.h"
#include "metrics/usage_samples.h"

namespace flyball::metrics {

// Thread-safe.
class NodeScraper {
 public:
  // What is younger than this is not asked for again.
  static constexpr Duration kFresh = std::chrono::seconds(10);
  // What is older is forgotten: a longer window would say little about now.
  static constexpr Duration kLongestWindow = std::chrono::minutes(2);

  explicit NodeScraper(Client client) : client_(std::move(client)) {}

  // Asks those nodes of whose use nothing fresh is known. Blocks until they have answered. True if something
  // was seen for the first time, and can be measured when `soon` asks again.
  bool Refresh(const std::set<std::string>& nodes, bool soon);
  // What is known of a node; nothing of one that has not answered lately.
  UsageSamples Samples(const std::string& node) const;

 private:
  std::set<std::string> Stale(const std::set<std::string>& nodes, bool soon);
  void Take(const std::string& node, const NodeSample& sample, bool soon);

  const Client client_;
  mutable Mutex mu_;
  Mutex asking_;  // held by the one who asks
  std::map<std::string, UsageSamples> samples_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::metrics
