#include "controllers/certificates/approving_controller.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/types/core.h"
#include "controllers/certificates/certificate_request.h"

namespace flyball::controllers {
namespace {

constexpr std::string_view kNodeUserPrefix = "system:node:";

struct Recognizer {
  std::string_view permission;  // the subresource that the sender must be allowed to create
  std::string_view message;
  bool own;  // the sender is the node itself
};
// Checked in this order.
constexpr std::array kRecognizers = {
    Recognizer{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.",
               true},
    Recognizer{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.", false},
};

const KindRef kSubjectAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview",
                                   "subjectaccessreviews", false};

json::Array Strings(const std::vector<std::string>& list) {
  return {list.begin(), list.end()};
}

Result<bool> MayCreate(const Client& client, const CertificateSigningRequest& csr, std::string_view what) {
  json::Object extra;
  for (const auto& [key, values] : csr.spec.extra) extra.Set(key, Strings(values));
  const json::Value review = json::Object{
      {"spec", json::Object{{"user", csr.spec.username},
                            {"uid", csr.spec.uid},
                            {"groups", Strings(csr.spec.groups)},
                            {"extra", std::move(extra)},
                            {"resourceAttributes", json::Object{{"group", "certificates.k8s.io"},
                                                                {"resource", "certificatesigningrequests"},
                                                                {"subresource", what},
                                                                {"verb", "create"},
                                                                {"version", "*"}}}}}};
  FLYBALL_ASSIGN(const json::Value answer, client.Dynamic(kSubjectAccessReview).Create(review));
  return answer["status"]["allowed"].bool_or(false);
}

Status Approve(const Client& client, CertificateSigningRequest csr, std::string_view message) {
  CertificateSigningRequestCondition condition;
  condition.type = "Approved";
  condition.status = "True";
  condition.reason = "AutoApproved";
  condition.message = message;
  csr.status.conditions.push_back(std::move(condition));
  WriteParams params;
  params.subresource = "approval";
  const auto written = client.Update(csr, params);
  if (!written) return Unexpected(written.error());
  return {};
}

bool IsDecided(const CertificateSigningRequest& csr) {
  return !csr.status.certificate.empty() || HasCondition(csr, "Approved") || HasCondition(csr, "Denied");
}

Result<Action> ApproveNodeClient(const CertificateSigningRequest& csr, Context& ctx) {
  if (IsDecided(csr) || csr.spec.signer_name != kKubeletClientSigner) return Done();
  FLYBALL_ASSIGN(const auto request, net::ParseCertificateRequest(csr.spec.request));
  if (!SignerProblem(csr.spec.signer_name, request, csr.spec.usages).empty()) return Done();
  for (const Recognizer& recognizer : kRecognizers) {
    if (recognizer.own && csr.spec.username != request.common_name) continue;
    FLYBALL_ASSIGN(const bool allowed, MayCreate(ctx.client(), csr, recognizer.permission));
    if (!allowed) continue;
    FLYBALL_TRY(Approve(ctx.client(), csr, recognizer.message));
    return Done();
  }
  // Roles may change: check again, with increasing delays.
  return Requeue();
}

bool Holds(const Node& node, std::string_view address) {
  const auto& addresses = node.status.addresses;
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const NodeAddress& known) { return known.address == address; });
}

bool NamesOnly(const net::CertificateRequestInfo& request, const Node& node) {
  const auto own = [&](const std::string& name) { return name == node.metadata.name || Holds(node, name); };
  return std::all_of(request.dns_names.begin(), request.dns_names.end(), own) &&
         std::all_of(request.ip_addresses.begin(), request.ip_addresses.end(), own);
}

Result<Action> ApproveKubeletServing(const CertificateSigningRequest& csr, Context& ctx) {
  if (IsDecided(csr) || csr.spec.signer_name != kKubeletServingSigner) return Done();
  FLYBALL_ASSIGN(const auto request, net::ParseCertificateRequest(csr.spec.request));
  if (!SignerProblem(csr.spec.signer_name, request, csr.spec.usages).empty()) return Done();
  const auto& groups = csr.spec.groups;
  if (csr.spec.username != request.common_name ||
      std::find(groups.begin(), groups.end(), "system:nodes") == groups.end())
    return Done();
  const auto node = ctx.lister<Node>().Get("", request.common_name.substr(kNodeUserPrefix.size()));
  // The Node may report its addresses a moment later.
  if (!node || !NamesOnly(request, *node)) return Requeue();
  FLYBALL_TRY(
      Approve(ctx.client(), csr, "Auto approving kubelet serving certificate for its own addresses."));
  return Done();
}

}  // namespace

Status AddCertificateApprover(Manager& manager, int workers) {
  return manager.For<CertificateSigningRequest>()
      .Named("certificatesigningrequest-approving-controller")
      .Workers(workers)
      .Reconcile(&ApproveNodeClient);
}

Status AddKubeletServingApprover(Manager& manager, int workers) {
  return manager.For<CertificateSigningRequest>()
      .Named("kubelet-serving-certificate-approving-controller")
      .Uses<Node>()
      .Workers(workers)
      .Reconcile(&ApproveKubeletServing);
}

}  // namespace flyball::controllers
