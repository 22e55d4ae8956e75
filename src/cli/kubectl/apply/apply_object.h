// Makes one object match its manifest, for `apply` and `diff`.
#pragma once

#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct ApplyOptions {
  std::string field_manager;  // empty: kubectl's name for this kind of apply
  bool server_side = false, force_conflicts = false;
  std::string validate = "strict";
  bool remember = true;  // records the applied manifest in an annotation (client-side apply)
  std::string dry_run;   // "client": nothing is sent; "server": everything is done except storing
};

struct Applied {
  json::Value object;
  std::string what;  // "created", "configured", "unchanged", "serverside-applied"
};

// Client-side apply sends a three-way patch of manifest, live object and last applied manifest; server-side
// apply sends the manifest. Errors have kubectl's wording.
Result<Applied> ApplyManifest(Session& session, const ApplyOptions& options, const Manifest& manifest);

// The manifest recorded in the annotation of client-side apply; null if there is none.
const json::Value& LastAppliedIn(const json::Value& object);
// The manifest with the annotation that records it.
json::Value WithLastApplied(const json::Value& object);

}  // namespace flyball::cli
