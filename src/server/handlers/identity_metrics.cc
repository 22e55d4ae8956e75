#include "server/handlers/identity_metrics.h"

#include <algorithm>

namespace flyball::server {
namespace {

// Upstream counts these by name and all others together (compressUsername).
constexpr std::array<std::string_view, 5> kKnownUsers = {"admin", "client", "kube_proxy", "kubelet",
                                                         "system:serviceaccount:kube-system:default"};

std::vector<double> IdentityBuckets() {
  std::vector<double> buckets;
  for (double bound = 0.001; buckets.size() < 15; bound *= 2) buckets.push_back(bound);
  return buckets;
}

}  // namespace

void IdentityMetrics::Series::Add(Duration took) const {
  total->Add();
  seconds->Observe(std::chrono::duration<double>(took).count());
}

IdentityMetrics::IdentityMetrics(Metrics& metrics) {
  const auto authentication = [&](const char* result) {
    return Series{&metrics.GetCounter("authentication_attempts", "Counter of authenticated attempts.",
                                      {{"result", result}}),
                  &metrics.GetHistogram("authentication_duration_seconds",
                                        "Authentication duration in seconds broken out by result.",
                                        IdentityBuckets(), {{"result", result}})};
  };
  success_ = authentication("success");
  failure_ = authentication("failure");
  constexpr const char* kResults[] = {"allowed", "denied", "no-opinion", "error"};
  for (std::size_t i = 0; i < outcomes_.size(); ++i)
    outcomes_[i] = Series{
        &metrics.GetCounter("authorization_attempts_total",
                            "Counter of authorization attempts broken down by result. It can be either "
                            "'allowed', 'denied', 'no-opinion' or 'error'.",
                            {{"result", kResults[i]}}),
        &metrics.GetHistogram("authorization_duration_seconds",
                              "Authorization duration in seconds broken out by result.", IdentityBuckets(),
                              {{"result", kResults[i]}})};
  const auto user = [&](std::string_view name) {
    return &metrics.GetCounter("authenticated_user_requests",
                               "Counter of authenticated requests broken out by username.",
                               {{"username", std::string(name)}});
  };
  email_users_ = user("email_id");
  other_users_ = user("other");
  for (std::size_t i = 0; i < kKnownUsers.size(); ++i) known_users_[i] = user(kKnownUsers[i]);
}

void IdentityMetrics::Authenticated(const User* user, Duration took) {
  if (!user) return failure_.Add(took);
  success_.Add(took);
  const auto known = std::find(kKnownUsers.begin(), kKnownUsers.end(), user->name);
  if (known != kKnownUsers.end())
    known_users_[static_cast<std::size_t>(known - kKnownUsers.begin())]->Add();
  else
    (user->name.find('@') == std::string::npos ? other_users_ : email_users_)->Add();
}

void IdentityMetrics::Authorized(const Verdict& verdict, Duration took) {
  Outcome outcome = kNoOpinion;
  if (verdict.decision == Decision::kDeny) outcome = kDenied;
  if (verdict.error) outcome = kError;
  if (verdict.decision == Decision::kAllow) outcome = kAllowed;
  outcomes_[outcome].Add(took);
}

}  // namespace flyball::server
