#include "server/admission/certificates.h"

#include "api/schema/feature_gates.h"
#include "api/values/base64.h"
#include "net/tls/pki.h"
#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

constexpr std::string_view kCertificatesGroup = "certificates.k8s.io";
constexpr std::string_view kRequests = "certificatesigningrequests";
constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";

bool UpdatesRequest(const AdmissionRequest& request, std::string_view subresource) {
  return request.operation == AdmissionRequest::Operation::kUpdate && request.subresource == subresource &&
         request.resource.kind->group == kCertificatesGroup && request.resource.kind->plural == kRequests;
}

// The verb on the signer itself, or on all of its domain ("example.com/*").
Task<bool> MayUseSigner(const Authorizer& authorizer, const RequestScope& scope, std::string_view verb,
                        std::string_view signer) {
  AuthorizationAttributes attributes;
  attributes.user = &scope.user;
  attributes.verb = verb;
  attributes.group = kCertificatesGroup;
  attributes.version = "*";
  attributes.resource = "signers";
  for (const std::string& name :
       {std::string(signer), std::string(signer.substr(0, signer.find('/'))) + "/*"}) {
    attributes.name = name;
    const auto verdict = co_await authorizer.Authorize(attributes, scope.executor);
    if (verdict.decision == Decision::kAllow) co_return true;
  }
  co_return false;
}

class CertificateApproval final : public AdmissionPlugin {
 public:
  explicit CertificateApproval(const Authorizer& authorizer) : authorizer_(authorizer) {}
  std::string_view name() const override { return "CertificateApproval"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!UpdatesRequest(request, "approval")) co_return Status();
    const std::string signer((*request.old_object)["spec"]["signerName"].string_or(""));
    if (co_await MayUseSigner(authorizer_, request.scope, "approve", signer)) co_return Status();
    co_return Unexpected(AdmissionForbidden(
        request, "user not permitted to approve requests with signerName \"" + signer + "\""));
  }

 private:
  const Authorizer& authorizer_;
};

class CertificateSigning final : public AdmissionPlugin {
 public:
  explicit CertificateSigning(const Authorizer& authorizer) : authorizer_(authorizer) {}
  std::string_view name() const override { return "CertificateSigning"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!UpdatesRequest(request, "status")) co_return Status();
    const auto &now = (*request.object)["status"], &before = (*request.old_object)["status"];
    if (now["certificate"] == before["certificate"] && now["conditions"] == before["conditions"])
      co_return Status();
    const std::string signer((*request.old_object)["spec"]["signerName"].string_or(""));
    if (co_await MayUseSigner(authorizer_, request.scope, "sign", signer)) co_return Status();
    co_return Unexpected(AdmissionForbidden(
        request, "user not permitted to sign requests with signerName \"" + signer + "\""));
  }

 private:
  const Authorizer& authorizer_;
};

class CertificateSubjectRestriction final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "CertificateSubjectRestriction"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!Creates(request, kCertificatesGroup, kRequests)) co_return Status();
    const auto& spec = (*request.object)["spec"];
    if (spec["signerName"].string_or("") != kClientSigner) co_return Status();
    std::string pem;
    std::size_t bad = 0;
    api::DecodeBase64(spec["request"].string_or(""), pem, bad);
    const auto asked = net::ParseCertificateRequest(pem);
    if (!asked)
      co_return Unexpected(AdmissionForbidden(request, "failed to parse CSR: " + asked.error().message()));
    for (const auto& organization : asked->organizations)
      if (organization == kMastersGroup)
        co_return Unexpected(AdmissionForbidden(
            request,
            "use of " + std::string(kClientSigner) + " signer with system:masters group is not allowed"));
    co_return Status();
  }
};

class ClusterTrustBundleAttest final : public AdmissionPlugin {
 public:
  explicit ClusterTrustBundleAttest(const Authorizer& authorizer) : authorizer_(authorizer) {}
  std::string_view name() const override { return "ClusterTrustBundleAttest"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!Writes(request) || !IsAbout(request, kCertificatesGroup, "clustertrustbundles") ||
        !api::GateEnabled("ClusterTrustBundle"))
      co_return Status();
    const std::string signer((*request.object)["spec"]["signerName"].string_or(""));
    if (signer.empty() || ChangesOnlyWhatCollectionNeeds(request)) co_return Status();
    if (co_await MayUseSigner(authorizer_, request.scope, "attest", signer)) co_return Status();
    co_return Unexpected(
        AdmissionForbidden(request, "user not permitted to attest for signerName \"" + signer + "\""));
  }

 private:
  const Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewClusterTrustBundleAttest(const Authorizer& authorizer) {
  return std::make_unique<ClusterTrustBundleAttest>(authorizer);
}
std::unique_ptr<AdmissionPlugin> NewCertificateApproval(const Authorizer& authorizer) {
  return std::make_unique<CertificateApproval>(authorizer);
}
std::unique_ptr<AdmissionPlugin> NewCertificateSigning(const Authorizer& authorizer) {
  return std::make_unique<CertificateSigning>(authorizer);
}
std::unique_ptr<AdmissionPlugin> NewCertificateSubjectRestriction() {
  return std::make_unique<CertificateSubjectRestriction>();
}

}  // namespace flyball::server
