// Checks of what signers of certificates are asked for, in upstream's words.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "json/value.h"

namespace flyball::api {

// A signer's name: "example.com/signer-name" (upstream: ValidateSignerName).
void ValidateSigner(std::string_view signer, const FieldPath& path, FieldErrors& errors);

// Keys of annotations a signer is asked to note: domain-prefixed (upstream: ValidateUserAnnotations).
void ValidateUserAnnotations(const json::Value& annotations, const FieldPath& path, FieldErrors& errors);

<<<<<<<< HEAD:src/api/kinds/shared/certificates.h
// What is wrong with the name of a ClusterTrustBundle of this signer; "": of none.
Problems TrustBundleNameProblems(std::string_view name, std::string_view signer);
========
// How many seconds a pod's certificate may be asked to last: at least an hour, at most 91 days, and a day
// from Kubernetes' own signers.
inline constexpr std::int64_t kShortestCertificateLife = 3600;
std::int64_t LongestCertificateLife(std::string_view signer);
>>>>>>>> 12726b7 (server: every admission plugin of v1.37 and their configuration file):src/api/kinds/shared/signers.h

}  // namespace flyball::api
