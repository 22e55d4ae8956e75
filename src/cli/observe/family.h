// The family of an object: itself, and what it owns, directly or not.
#pragma once

#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

struct FamilyMember {
  KindRef kind;
  json::Value object;
  // "Deployment default/web"
  std::string Name() const;
};

// The object first, owners before what they own. Every kind that can be listed in the object's namespace (or
// in all, if it has none) is searched for owner references; kinds that may not be listed are left out.
Result<std::vector<FamilyMember>> FamilyOf(Session& session, const KindRef& kind, const std::string& ns,
                                           const std::string& name);

}  // namespace flyball::cli
