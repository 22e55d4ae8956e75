// EtcdLeases: leases for keys with a time to live (upstream: storage/etcd3's leaseManager).
//
// A lease is granted for a little longer than asked, and serves all keys that want about the same time within
// that little longer, up to a number of them: leases are expensive in etcd.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/run/mutex.h"
#include "store/etcd/etcd_client.h"

namespace flyball::store::etcd {

// Thread-safe.
class EtcdLeases : public std::enable_shared_from_this<EtcdLeases> {
 public:
  // `reuse`: how long a lease is given to new keys, at most (--lease-reuse-duration-seconds).
  EtcdLeases(std::shared_ptr<EtcdClient> client, Duration reuse);

  using Done = UniqueFunction<void(Result<std::int64_t>)>;
  // The id of a lease that lasts at least `ttl` from now on; at once, or when etcd has granted one.
  void Get(Duration ttl, Done done);
  // The lease does not exist any more.
  void Forget(std::int64_t id);

 private:
  // How much longer than `ttl` seconds a lease is granted for.
  std::int64_t ExtraSeconds(std::int64_t ttl) const;
  bool Fits(std::int64_t ttl, SteadyTime now) const FLYBALL_REQUIRES(mu_);
  void OnGranted(SteadyTime expires, Done done, Result<std::string> answer);

  const std::shared_ptr<EtcdClient> client_;
  const std::int64_t reuse_seconds_;
  Mutex mu_;
  std::int64_t id_ FLYBALL_GUARDED_BY(mu_) = 0;
  SteadyTime expires_ FLYBALL_GUARDED_BY(mu_){};
  int keys_ FLYBALL_GUARDED_BY(mu_) = 0;
};

}  // namespace flyball::store::etcd
