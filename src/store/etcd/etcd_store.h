// The store on an etcd cluster, in kube-apiserver's layout. Several API servers, Flyball's and
// kube-apiserver, may use the same etcd at once.
//
// Flow of a commit: one etcd transaction that compares modification revisions -> etcd answers -> the watch
// has delivered the change -> done. A conflict is told when the watches have seen what it conflicts with, so
// that who reads again reads something newer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/values/result.h"
#include "net/tls/tls_options.h"
#include "store/store.h"

namespace flyball::store {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // URLs
  net::ClientTls tls{};
  // What the keys' own first part, "/registry", is in etcd.
  std::string prefix = "/registry";
  Duration compaction_interval = std::chrono::minutes(5);  // zero: others compact
  Duration lease_reuse = std::chrono::seconds(60);
  Duration health_timeout = std::chrono::seconds(2);
  Duration stats_interval = std::chrono::seconds(30);  // how often etcd's size is asked for
  // How long opening waits for an etcd that is starting.
  Duration open_timeout = std::chrono::seconds(20);
};

// Blocks until etcd has answered. Errors name the endpoints and say what is wrong: nobody listens there, the
// certificate is not of the given CA, the version is too old, there is no quorum.
Result<std::unique_ptr<Store>> OpenEtcdStore(const EtcdOptions& options, Executor& executor);

}  // namespace flyball::store
