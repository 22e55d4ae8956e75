// What the registry does to certificate signing requests beyond their schema: rules that need the clock, the
// user or a look into the request itself (upstream: pkg/registry/certificates). Pure functions on objects.
#pragma once

#include "api/rules/field_error.h"
#include "base/run/clock.h"
#include "json/value.h"
#include "server/catalog/catalog.h"
#include "server/request/user.h"

namespace flyball::server {

bool IsCertificateRequest(const ServedResource& resource);

// Who asks: spec.username, uid, groups and extra of a new request are its sender's, whatever it says.
void SetRequester(const User& user, json::Value& spec);

// Conditions without times get them: lastUpdateTime is now; lastTransitionTime is that of the old condition
// of the same type and status, else now.
void SetConditionTimes(TimePoint now, const json::Value& old, json::Value& object);

// A new request must be one: PKCS#10 in PEM, signed by its own key; and of a signer that is still served.
void ValidateCertificateRequest(const json::Value& object, api::FieldErrors& errors);
// A certificate that is set must be certificates in PEM and nothing else, and is set once.
void ValidateIssuedCertificate(const json::Value& object, const json::Value& old, api::FieldErrors& errors);

}  // namespace flyball::server
