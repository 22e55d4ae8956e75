// TrustedAuthorities: whose client certificates are believed; replaced while the server runs when the file
// they come from changes.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "net/tls/authorities.h"

namespace flyball::server {

// Thread-safe.
class TrustedAuthorities {
 public:
  static Result<std::shared_ptr<TrustedAuthorities>> Make(const std::string& pem) {
    auto made = std::make_shared<TrustedAuthorities>();
    FLYBALL_TRY(made->Set(pem));
    return made;
  }

  // Connections that are open are held to it from their next request on. No change if the text is no good.
  Status Set(const std::string& pem) {
    FLYBALL_ASSIGN(auto authorities, net::CertificateAuthorities::Parse(pem));
    MutexLock lock(mu_);
    pem_ = pem;
    authorities_ = std::move(authorities);
    return {};
  }

  std::shared_ptr<const net::CertificateAuthorities> Get() const {
    MutexLock lock(mu_);
    return authorities_;
  }
  std::string pem() const {
    MutexLock lock(mu_);
    return pem_;
  }

 private:
  mutable Mutex mu_;
  std::string pem_ FLYBALL_GUARDED_BY(mu_);
  std::shared_ptr<const net::CertificateAuthorities> authorities_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
