// ApiServices: an APIService for every group and version this server has, so that clients that ask for them
// see what is served (upstream: kube-aggregator's autoregister and crdregistration controllers).
//
// The label kube-aggregator.kubernetes.io/automanaged says how one is looked after: "onstart", those of
// built-in groups: made at the start if they are not there; "true", those of custom groups: kept in step with
// the definitions. APIServices without the label belong to their users.
#pragma once

#include <memory>
#include <vector>

#include "json/value.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// Those of the built-in groups, for the bootstrap.
std::vector<json::Value> BuiltinApiServices(const Catalog::Snapshot& catalog);

// Keeps those of custom groups. Thread-safe; must not outlive the state.
class ApiServices {
 public:
  explicit ApiServices(ServerState& state);
  ~ApiServices();
  // Requires that the catalog follows the definitions already: observers run in the order they came.
  void Start();

 private:
  struct Follower;
  std::shared_ptr<Follower> follower_;
};

}  // namespace flyball::server
