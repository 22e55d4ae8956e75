// IdentityMetrics: how authentication and authorization of requests went, and how long they took, under
// kube-apiserver's names.
#pragma once

#include <array>
#include <string_view>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "server/auth/authorization.h"

namespace flyball::server {

// Thread-safe. The series are made once: a client cannot invent label values.
class IdentityMetrics {
 public:
  explicit IdentityMetrics(Metrics& metrics);

  // `user`: null if the request was refused.
  void Authenticated(const User* user, Duration took);
  void Authorized(const Verdict& verdict, Duration took);

 private:
  struct Series {
    Counter* total;
    Histogram* seconds;
    void Add(Duration took) const;
  };
  enum Outcome { kAllowed, kDenied, kNoOpinion, kError };

  Series success_, failure_;
  std::array<Series, 4> outcomes_;  // by Outcome
  Counter *email_users_, *other_users_;
  std::array<Counter*, 5> known_users_;
};

}  // namespace flyball::server
