// PodCertificates: keys and certificates of podCertificate projections (upstream: kubelet's IssuingManager).
// A key is made here and never leaves the node; a PodCertificateRequest asks the projection's signer for a
// certificate of it, and another one does before the certificate ends.
//
// States of a projection: nothing -> asked -> issued -> issued and asked again -> issued ...; a request that
// is denied or fails ends them, as upstream. They are not kept across restarts of the agent, which asks
// again.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "client/client.h"

namespace flyball::node {

struct CredentialBundle {
  std::string key, certificates;  // PEM
};

// Thread-safe; one call for a pod at a time. Get blocks.
class PodCertificates {
 public:
  PodCertificates(Client client, std::string node) : client_(std::move(client)), node_(std::move(node)) {}

  // What the `source`-th projection of the pod's volume holds now. An error if nothing has been issued yet,
  // or nothing will be; the next call looks again.
  Result<CredentialBundle> Get(const Pod& pod, const std::string& volume, std::size_t source,
                               const PodCertificateProjection& projection);
  void Forget(const std::string& pod_uid);

 private:
  using Key = std::tuple<std::string, std::string, std::size_t>;  // pod's UID, volume, source
  struct Record {
    CredentialBundle issued;  // empty: nothing yet
    TimePoint refresh_at;
    std::string asked_key, request;  // the request that is under way; empty: none
    std::string refused;             // why there will be none
  };

  Status Ask(const Pod& pod, const PodCertificateProjection& projection, Record& record) const;
  // Looks at the request that is under way.
  Status Look(const Pod& pod, Record& record) const;

  const Client client_;
  const std::string node_;
  Mutex mu_;
  std::map<Key, Record> records_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
