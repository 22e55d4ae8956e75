// Moves an object from client-side to server-side apply: the owners of its fields must change accordingly.
#pragma once

#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// The manager of `apply --server-side` if none is given.
inline constexpr const char* kServerSideManager = "kubectl";

// Call with the result of a server-side apply by `manager`. If the object was applied client-side before, the
// fields owned by client-side apply move to `manager`, and the last-applied annotation moves to a manager of
// its own. Returns true if anything moved; the manifest must then be applied again.
Result<bool> UpgradeManagers(Session& session, const Manifest& manifest, json::Value object,
                             const std::string& manager);

// The managedFields after the move; where both had an entry, the field sets are merged. Unchanged if nobody
// owns the annotation of client-side apply by an update.
json::Value HandOver(const json::Value& managed_fields, const std::string& manager);

}  // namespace flyball::cli
