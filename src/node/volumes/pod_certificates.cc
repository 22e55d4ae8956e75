#include "node/volumes/pod_certificates.h"

#include "api/types/certificates.h"
#include "net/tls/stub_request.h"
#include "node/volumes/trust_bundles.h"

namespace flyball::node {

Result<CredentialBundle> PodCertificates::Get(const Pod& pod, const std::string& volume, std::size_t source,
                                              const PodCertificateProjection& projection) {
  const Key key{pod.metadata.uid, volume, source};
  Record record;
  {
    MutexLock lock(mu_);
    record = records_[key];
  }
  Status result;
  if (!record.request.empty()) result = Look(pod, record);
  const bool due = record.issued.key.empty() || client_.runtime().clock().Now() >= record.refresh_at;
  if (result && record.refused.empty() && record.request.empty() && due)
    result = Ask(pod, projection, record);
  {
    MutexLock lock(mu_);
    records_[key] = record;
  }
  if (!record.refused.empty()) return Unexpected(Error(Reason::kForbidden, record.refused));
  if (!record.issued.key.empty()) return record.issued;
  if (!result) return Unexpected(result.error());
  return Unexpected(Error(Reason::kNotFound, "credential bundle is not issued yet"));
}

Status PodCertificates::Ask(const Pod& pod, const PodCertificateProjection& projection,
                            Record& record) const {
  const std::string account = pod.spec.service_account_name;
  FLYBALL_ASSIGN(const auto owner, client_.Get<ServiceAccount>(pod.metadata.namespace_, account));
  FLYBALL_ASSIGN(const auto node, client_.Get<Node>("", node_));
  FLYBALL_ASSIGN(const net::StubRequest stub, net::MakeStubRequest(projection.key_type));
  PodCertificateRequest request;
  request.metadata.namespace_ = pod.metadata.namespace_;
  request.metadata.generate_name = "req-";
  request.metadata.owner_references = {
      {.kind = "Pod", .name = pod.metadata.name, .uid = pod.metadata.uid, .api_version = "v1"}};
  request.spec.signer_name = projection.signer_name;
  request.spec.pod_name = pod.metadata.name;
  request.spec.pod_uid = pod.metadata.uid;
  request.spec.service_account_name = account;
  request.spec.service_account_uid = owner.metadata.uid;
  request.spec.node_name = node_;
  request.spec.node_uid = node.metadata.uid;
  request.spec.max_expiration_seconds = projection.max_expiration_seconds;
  request.spec.stub_pkcs10_request = stub.request_der;
  request.spec.unverified_user_annotations = projection.user_annotations;
  const auto made = client_.Create(request);
  if (!made) return Unexpected(made.error().Annotate("while creating initial PodCertificateRequest"));
  record.asked_key = stub.private_key_pem;
  record.request = made->metadata.name;
  return {};
}

Status PodCertificates::Look(const Pod& pod, Record& record) const {
  const auto request = client_.Get<PodCertificateRequest>(pod.metadata.namespace_, record.request);
  if (!request) {
    if (!request.error().Is(Reason::kNotFound)) return Unexpected(request.error());
    record.request.clear();  // somebody has deleted it
    return {};
  }
  for (const auto& condition : request->status.conditions) {
    if (condition.status != "True") continue;
    if (condition.type == "Denied" || condition.type == "Failed")
      record.refused = "PodCertificateRequest was permanently " +
                       std::string(condition.type == "Denied" ? "denied" : "failed") + ": reason=\"" +
                       condition.reason + "\" message=\"" + condition.message + "\"";
    if (condition.type != "Issued") continue;
    record.issued = {record.asked_key, CleanCertificates(request->status.certificate_chain)};
    record.refresh_at =
        request->status.begin_refresh_at ? request->status.begin_refresh_at->ToTimePoint() : TimePoint::max();
    record.request.clear();
  }
  return {};
}

void PodCertificates::Forget(const std::string& pod_uid) {
  MutexLock lock(mu_);
  std::erase_if(records_, [&](const auto& known) { return std::get<0>(known.first) == pod_uid; });
}

}  // namespace flyball::node
