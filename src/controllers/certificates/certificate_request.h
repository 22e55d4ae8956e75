// Reads CertificateSigningRequests for the certificate controllers, and implements the rules of the built-in
// signers (upstream: pkg/apis/certificates/helpers.go, pkg/controller/certificates).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/types/certificates.h"
#include "base/values/result.h"
#include "flyball/pki.h"

namespace flyball::controllers {

inline constexpr std::string_view kApiServerClientSigner = "kubernetes.io/kube-apiserver-client";
inline constexpr std::string_view kKubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
inline constexpr std::string_view kKubeletServingSigner = "kubernetes.io/kubelet-serving";
inline constexpr std::string_view kLegacyUnknownSigner = "kubernetes.io/legacy-unknown";

// With any status: whether a decision exists.
bool HasCondition(const CertificateSigningRequest& csr, std::string_view type);
// Approved, and not also denied.
bool IsApproved(const CertificateSigningRequest& csr);
// With status True, or without a status (as in old objects).
bool HasTrueCondition(const CertificateSigningRequest& csr, std::string_view type);

// Returns why a request does not fit its signer, in upstream's words; "" if it fits. Requests for signers
// that are not built in never fit.
std::string SignerProblem(std::string_view signer, const net::CertificateRequestInfo& request,
                          const std::vector<std::string>& usages);

// Returns spec.usages as a certificate encodes them. BadRequest, with upstream's message, if one is unknown.
struct CertificateUsages {
  std::vector<std::string> key_usages, extended_key_usages;
};
Result<CertificateUsages> ParseUsages(const std::vector<std::string>& usages);

}  // namespace flyball::controllers
