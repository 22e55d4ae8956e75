// What the certificate controllers read in a CertificateSigningRequest, and the rules of the built-in signers
// (upstream: pkg/apis/certificates/helpers.go, pkg/controller/certificates).
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

// Of any status: a decision is there or not.
bool HasCondition(const CertificateSigningRequest& csr, std::string_view type);
// Approved, and not denied too.
bool IsApproved(const CertificateSigningRequest& csr);
// Of status True, or of none (as old objects have it).
bool HasTrueCondition(const CertificateSigningRequest& csr, std::string_view type);

// Why a request does not fit its signer, in upstream's words; "" if it does. Requests of signers that are not
// built in fit nothing.
std::string SignerProblem(std::string_view signer, const net::CertificateRequestInfo& request,
                          const std::vector<std::string>& usages);

// spec.usages as a certificate has them. BadRequest, with upstream's text, if one is unknown.
struct CertificateUsages {
  std::vector<std::string> key_usages, extended_key_usages;
};
Result<CertificateUsages> ParseUsages(const std::vector<std::string>& usages);

}  // namespace flyball::controllers
