// What clusterTrustBundle projections hold (upstream: kubelet's clustertrustbundle package).
#pragma once

#include <string>

#include "api/types/core.h"
#include "client/client.h"

namespace flyball::node {

// The certificates of the trust bundle that is named, or of all that the signer and the labels select, as
// PEM: each once, without comments. Empty if there is none and the projection is optional. Blocks.
Result<std::string> TrustAnchorsOf(const Client& client, const ClusterTrustBundleProjection& projection);

// Certificates as PEM without comments and headers; what is no PEM block is left out.
std::string CleanCertificates(const std::string& pem);

}  // namespace flyball::node
