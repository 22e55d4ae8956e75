#include "controllers/certificates/cleaner_controller.h"

#include <algorithm>
#include <optional>

#include "controllers/certificates/certificate_request.h"

namespace flyball::controllers {
namespace {

constexpr Duration kDecidedFor = std::chrono::hours(1);
constexpr Duration kPendingFor = std::chrono::hours(24);

class Deadline {
 public:
  void At(TimePoint t) { when_ = when_ ? std::min(*when_, t) : t; }
  void After(const std::optional<api::Time>& t, Duration d) {
    if (t) At(t->ToTimePoint() + d);
  }
  const std::optional<TimePoint>& when() const { return when_; }

 private:
  std::optional<TimePoint> when_;
};

// When a request is no longer needed; nullopt: not before it changes.
std::optional<TimePoint> EndOf(const CertificateSigningRequest& csr) {
  Deadline end;
  const bool issued = !csr.status.certificate.empty();
  if (csr.status.conditions.empty()) end.After(csr.metadata.creation_timestamp, kPendingFor);
  for (const auto& condition : csr.status.conditions) {
    if (condition.type == "Denied" || condition.type == "Failed")
      end.After(condition.last_update_time, kDecidedFor);
    if (condition.type != "Approved") continue;
    end.After(condition.last_update_time, issued ? kDecidedFor : kPendingFor);
    if (!issued) continue;
    if (const auto certificate = net::ParseCertificate(csr.status.certificate))
      end.At(certificate->not_after);
  }
  return end.when();
}

Result<Action> CleanRequest(const CertificateSigningRequest& csr, Context& ctx) {
  const auto end = EndOf(csr);
  if (!end || csr.metadata.deletion_timestamp) return Done();
  // Upstream deletes requests older than the limit, not those exactly as old.
  const Duration left = *end - ctx.Now() + std::chrono::milliseconds(1);
  if (left > Duration::zero()) return RequeueAfter(left);
  const Status deleted = ctx.client().Delete(csr);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

// What came of a pod's request is in its volume by then.
constexpr Duration kPodRequestFor = std::chrono::minutes(30);

Result<Action> CleanPodRequest(const PodCertificateRequest& request, Context& ctx) {
  if (!request.metadata.creation_timestamp || request.metadata.deletion_timestamp) return Done();
  const Duration left = request.metadata.creation_timestamp->ToTimePoint() + kPodRequestFor - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  const Status deleted = ctx.client().Delete(request);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

}  // namespace

Status AddPodCertificateCleaner(Manager& manager) {
  return manager.For<PodCertificateRequest>()
      .Named("podcertificaterequest-cleaner-controller")
      .Reconcile(&CleanPodRequest);
}

Status AddCertificateCleaner(Manager& manager) {
  return manager.For<CertificateSigningRequest>()
      .Named("certificatesigningrequest-cleaner-controller")
      .Reconcile(&CleanRequest);
}

}  // namespace flyball::controllers
