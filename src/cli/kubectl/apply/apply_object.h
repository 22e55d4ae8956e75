// Makes one object match its manifest, for `apply` and `diff`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct ApplyOptions {
  std::string field_manager;  // empty: kubectl's name for this kind of apply
  bool server_side = false, force_conflicts = false;
  bool force = false;  // deletes and creates again what cannot be patched (client-side apply)
  std::optional<std::int64_t> grace_period{};
  std::string cascade = "Background", subresource{};
  bool overwrite = true;  // takes over what others changed since the last apply, else that is an error
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

// One request of server-side apply, as this field manager. A conflict is returned as the server words it.
Result<json::Value> SendServerSideApply(Session& session, const ApplyOptions& options,
                                        const Manifest& manifest, const std::string& manager);

// The manifest recorded in the annotation of client-side apply; null if there is none.
const json::Value& LastAppliedIn(const json::Value& object);
// The manifest with the annotation that records it.
json::Value WithLastApplied(const json::Value& object);

}  // namespace flyball::cli
