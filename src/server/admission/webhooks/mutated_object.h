// What a mutating webhook has made of an object: as strange as anything a client may send, so it is decoded
// and defaulted like that.
#pragma once

#include <string>

#include "base/values/result.h"
#include "json/value.h"
#include "server/admission/match/admission_attributes.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// 500: "Internal error occurred: <why>".
Error MutationFailed(const std::string& why);

// A patched object in the version `matched`: fields its type does not have are dropped, defaults are set.
Result<json::Value> DecodeMutated(const AdmissionAttributes& attributes, const ServedResource& matched,
                                  json::Value object);

}  // namespace flyball::server
