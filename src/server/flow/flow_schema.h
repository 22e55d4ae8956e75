// Flow schemas and priority levels, as their objects say: to which level a request belongs, and to which flow
// inside it (upstream: API priority and fairness). See docs/flow-control.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "json/value.h"
#include "server/request/request_info.h"
#include "server/request/user.h"

namespace flyball::server {

// A PriorityLevelConfiguration.
struct PriorityLevel {
  std::string name, uid;
  bool exempt = false;
  int shares = 0;        // nominalConcurrencyShares
  bool queues = false;   // false: what finds no seat is refused at once
  int queue_length = 0;  // how many may wait in one flow: as many as the queues of its hand hold
  int max_waiting = 0;   // in all of them
  int hand_size = 1;     // queues of one flow

  static PriorityLevel From(const json::Value& object);
};

// A FlowSchema.
class FlowSchema {
 public:
  static FlowSchema From(const json::Value& object);

  bool Matches(const User& user, const RequestInfo& info) const;
  // Requests of one flow wait behind each other: "" if the schema does not tell its requests apart.
  std::string FlowOf(const User& user, const RequestInfo& info) const;

  const std::string& name() const { return name_; }
  const std::string& uid() const { return uid_; }
  const std::string& level() const { return level_; }
  int precedence() const { return precedence_; }

 private:
  struct Subject {
    std::string kind, name, namespace_name;
    bool Is(const User& user) const;
  };
  struct ResourceRule {
    std::vector<std::string> verbs, groups, resources, namespaces;
    bool cluster_scope = false;
    bool Matches(const RequestInfo& info) const;
  };
  struct PathRule {
    std::vector<std::string> verbs, paths;
    bool Matches(const RequestInfo& info) const;
  };
  struct Rule {
    std::vector<Subject> subjects;
    std::vector<ResourceRule> resources;
    std::vector<PathRule> paths;
  };

  std::string name_, uid_, level_, distinguisher_;
  int precedence_ = 0;
  std::vector<Rule> rules_;
};

// In the order they are tried: by precedence, then by name.
std::vector<FlowSchema> SortedFlowSchemas(std::vector<FlowSchema> schemas);

// The levels and schemas every cluster starts with, as of `now`.
std::vector<json::Value> BootstrapFlowControl(TimePoint now);

}  // namespace flyball::server
