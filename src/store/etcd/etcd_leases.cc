#include "store/etcd/etcd_leases.h"

#include <algorithm>

#include "store/etcd/etcd_messages.h"

namespace flyball::store::etcd {
namespace {

constexpr int kMaxKeysPerLease = 1000;
constexpr std::int64_t kReuseShare = 20;  // a lease is reused for a twentieth of its time
constexpr Duration kGrantTimeout = std::chrono::seconds(10);

}  // namespace

EtcdLeases::EtcdLeases(std::shared_ptr<EtcdClient> client, Duration reuse)
    : client_(std::move(client)),
      reuse_seconds_(std::chrono::duration_cast<std::chrono::seconds>(reuse).count()) {}

std::int64_t EtcdLeases::ExtraSeconds(std::int64_t ttl) const {
  return std::min(ttl / kReuseShare, reuse_seconds_);
}

bool EtcdLeases::Fits(std::int64_t ttl, SteadyTime now) const {
  const SteadyTime wanted = now + std::chrono::seconds(ttl);
  return id_ != 0 && keys_ < kMaxKeysPerLease && wanted < expires_ &&
         wanted + std::chrono::seconds(ExtraSeconds(ttl)) > expires_;
}

void EtcdLeases::Get(Duration ttl, Done done) {
  const std::int64_t seconds =
      std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(ttl).count(), 1);
  const SteadyTime now = RealClock().Steady();
  std::int64_t id = 0;
  {
    MutexLock lock(mu_);
    if (Fits(seconds, now)) {
      ++keys_;
      id = id_;
    }
  }
  if (id != 0) return done(id);
  const std::int64_t granted = seconds + ExtraSeconds(seconds);
  const SteadyTime expires = now + std::chrono::seconds(granted);
  // A grant that is made twice leaves a lease without keys behind, which expires.
  client_->Call(
      kLeaseGrantMethod, LeaseGrantRequest(granted), EtcdClient::Repeat::kAlways, kGrantTimeout,
      [self = shared_from_this(), expires, done = std::move(done)](Result<std::string> answer) mutable {
        self->OnGranted(expires, std::move(done), std::move(answer));
      });
}

void EtcdLeases::OnGranted(SteadyTime expires, Done done, Result<std::string> answer) {
  if (!answer) return done(Unexpected(answer.error()));
  const auto id = DecodeLeaseGrant(*answer);
  if (id) {
    MutexLock lock(mu_);
    // A lease for a short life (a server's entry among its peers) must not take the place of the Events'.
    if (id_ == 0 || expires >= expires_) {
      id_ = *id;
      expires_ = expires;
      keys_ = 1;
    }
  }
  done(id);
}

void EtcdLeases::Forget(std::int64_t id) {
  MutexLock lock(mu_);
  if (id_ == id) id_ = 0;
}

}  // namespace flyball::store::etcd
