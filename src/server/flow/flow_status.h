// FlowStatus: says in the status of each FlowSchema whether the priority level that it names exists
// (upstream: the condition Dangling, written by the API server itself).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "json/value.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// The condition of a schema that names `level`. `since`: when it became so.
json::Value DanglingCondition(std::string_view level, bool exists, std::string since);

// Follows schemas and levels from Start on. Thread-safe; must not outlive the state.
class FlowStatus {
 public:
  explicit FlowStatus(ServerState& state);
  ~FlowStatus();
  void Start();

 private:
  struct Follower;
  std::shared_ptr<Follower> follower_;
};

}  // namespace flyball::server
