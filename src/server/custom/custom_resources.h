// Custom resources: turns CustomResourceDefinitions into served resources, and back off again when they go.
// The definitions' status (names accepted, established, stored versions) is written by the server itself, as
// upstream's apiextensions controllers do inside kube-apiserver.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "base/values/result.h"
#include "server/registry/server_state.h"
#include "server/webhook/webhook_caller.h"

namespace flyball::server {

// Follows the definitions and keeps the catalog in step. Confined to its strand; Start and the destructor to
// the owner.
class CustomResources {
 public:
  // All outlive it.
  CustomResources(ServerState& state, WatchCache& cache, WebhookCaller& webhooks);
  ~CustomResources();

  // Serves every definition there is, then follows changes. Blocks until the first part is done.
  Status Start();

 private:
  struct Follower;
  std::shared_ptr<Follower> follower_;
};

}  // namespace flyball::server
