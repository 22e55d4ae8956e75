// Which objects an earlier apply created and the manifests no longer contain, for `apply --prune` and
// `diff --prune`.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

struct PruneScope {
  std::vector<std::string> allowlist{};  // group/version/kind; empty: the kinds that kubectl prunes
  std::string label_selector{};
};

struct Prunable {
  KindRef kind;
  json::Value object;
};

// BadRequest, in kubectl's words, for an entry of the allowlist that is malformed or not served.
Status CheckAllowlist(Session& session, const PruneScope& scope);

// Objects with the annotation of client-side apply whose UIDs are not among `uids`: of namespaced kinds in
// the namespaces given, of the others all.
Result<std::vector<Prunable>> FindPrunable(Session& session, const PruneScope& scope,
                                           const std::set<std::string>& namespaces,
                                           const std::set<std::string>& uids);

}  // namespace flyball::cli
