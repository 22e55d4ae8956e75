// From client-side to server-side apply: what an object's fields are owned by has to follow.
#pragma once

#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// The manager of `apply --server-side` when none is given.
inline constexpr const char* kServerSideManager = "kubectl";

// To be called with what a server-side apply by `manager` gave. If the object was applied on the client
// before, the fields owned by that way of applying are handed over to `manager`, and what remembers the last
// application to a manager of its own. True if anything was handed over: then the manifest is to be applied
// again.
Result<bool> UpgradeManagers(Session& session, const Manifest& manifest, json::Value object,
                             const std::string& manager);

// The managedFields after the hand-over, unions of field sets where both had an entry. Unchanged if nobody
// owns the annotation of client-side apply by an update.
json::Value HandOver(const json::Value& managed_fields, const std::string& manager);

}  // namespace flyball::cli
