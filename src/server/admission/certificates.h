// What keeps certificate signing requests honest: who asked is written down by the server; approving and
// signing need the right on the signer; nobody gets a client certificate of system:masters.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewCertificateApproval(const Authorizer& authorizer);
std::unique_ptr<AdmissionPlugin> NewCertificateSigning(const Authorizer& authorizer);
std::unique_ptr<AdmissionPlugin> NewCertificateSubjectRestriction();

// ClusterTrustBundleAttest: who writes a bundle in a signer's name must be allowed to `attest` for it.
std::unique_ptr<AdmissionPlugin> NewClusterTrustBundleAttest(const Authorizer& authorizer);

}  // namespace flyball::server
