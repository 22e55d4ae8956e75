// CertificateRenewal: keeps the certificates that our own CA has issued to the server and its administrator
// from expiring while the server runs.
#pragma once

#include <functional>
#include <memory>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "server/serving.h"

namespace flyball::server {

// Thread-safe. Owned by shared_ptr.
class CertificateRenewal : public std::enable_shared_from_this<CertificateRenewal> {
 public:
  // Puts renewed certificates to use.
  using Use = std::function<Status(const Pki& pki)>;

  CertificateRenewal(ServingOptions options, Pki pki, Executor& executor, Use use)
      : options_(std::move(options)), use_(std::move(use)), strand_(executor), pki_(std::move(pki)) {}

  void Start();
  // `use` is not called any more once it returns. Requires that `use` does not call it.
  void Stop();

 private:
  void LookLater(Duration delay);
  void Look();
  // How long to wait before the next look.
  Duration Renew() FLYBALL_REQUIRES(mu_);

  const ServingOptions options_;
  const Use use_;
  Strand strand_;
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  Pki pki_ FLYBALL_GUARDED_BY(mu_);
  bool unused_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::server
