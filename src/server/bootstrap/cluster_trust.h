// ClusterTrust: the ConfigMap kube-system/extension-apiserver-authentication, from which API servers behind
// this one learn whose certificates to believe (upstream: the cluster authentication trust controller).
#pragma once

#include <memory>
#include <string>

#include "server/auth/authentication_options.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// The data of the ConfigMap: what `existing` has (another server may have written it) and what this server
// has, without certificates that expired more than five minutes before `now`.
json::Value ClusterTrustData(const json::Value& existing, const AuthenticationOptions& options,
                             TimePoint now);

// Thread-safe; must not outlive the state.
class ClusterTrust {
 public:
  ClusterTrust(ServerState& state, const AuthenticationOptions& options);
  ~ClusterTrust();
  // Writes it, and again when somebody has deleted it.
  void Start();
  // The authorities have changed.
  void Publish();

 private:
  struct Writer;
  const std::shared_ptr<Writer> writer_;
};

}  // namespace flyball::server
