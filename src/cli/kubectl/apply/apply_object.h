// Making one object match its manifest, as `apply` does and `diff` tries.
#pragma once

#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct ApplyOptions {
  std::string field_manager;  // empty: kubectl's name for the way it is applied
  bool server_side = false, force_conflicts = false;
  bool remember = true;  // what is applied on the client, in an annotation
  std::string dry_run;   // "client": nothing is sent; "server": it does everything but storing it
};

struct Applied {
  json::Value object;
  std::string what;  // "created", "configured", "unchanged", "serverside-applied"
};

// On the client by a three-way patch of manifest, object and what was applied last; on the server by
// server-side apply. Errors are worded as kubectl words them.
Result<Applied> ApplyManifest(Session& session, const ApplyOptions& options, const Manifest& manifest);

// What the annotation of client-side apply remembers; null if there is none.
const json::Value& LastAppliedIn(const json::Value& object);
// The manifest with the annotation that remembers it.
json::Value WithLastApplied(const json::Value& object);

}  // namespace flyball::cli
