#include "server/certificate_renewal.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::server {
namespace {

// Timers stand still while a machine sleeps; certificates go by the clock on the wall.
constexpr Duration kLongestWait = std::chrono::hours(12);
constexpr Duration kRenewalRetry = std::chrono::hours(1);

}  // namespace

void CertificateRenewal::Start() {
  LookLater(Duration::zero());
}

void CertificateRenewal::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
}

void CertificateRenewal::LookLater(Duration delay) {
  strand_.PostAfter(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Look();
  });
}

void CertificateRenewal::Look() {
  Duration wait;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    wait = NextRenewal(pki_) - strand_.clock().Now();
    if (wait <= Duration::zero() || unused_) wait = Renew();
  }
  LookLater(std::clamp(wait, Duration::zero(), kLongestWait));
}

Duration CertificateRenewal::Renew() {
  Status done = RenewPki(options_, strand_.clock(), pki_);
  if (done) done = use_(pki_);
  // What has been issued is put to use the next time, then.
  unused_ = !done;
  if (!done) {
    log::Error("certificates not renewed, will try again", {{"error", done.error().message()}});
    return kRenewalRetry;
  }
  log::Info("certificates renewed");
  return NextRenewal(pki_) - strand_.clock().Now();
}

}  // namespace flyball::server
