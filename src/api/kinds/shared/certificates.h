// Checks that the kinds of certificates.k8s.io share, in upstream's words.
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "json/value.h"

namespace flyball::api {

// A signer's name: "example.com/signer-name" (upstream: ValidateSignerName).
void ValidateSigner(std::string_view signer, const FieldPath& path, FieldErrors& errors);

// Keys of annotations a signer is asked to note: domain-prefixed (upstream: ValidateUserAnnotations).
void ValidateUserAnnotations(const json::Value& annotations, const FieldPath& path, FieldErrors& errors);

// What is wrong with the name of a ClusterTrustBundle of this signer; "": of none.
Problems TrustBundleNameProblems(std::string_view name, std::string_view signer);

}  // namespace flyball::api
