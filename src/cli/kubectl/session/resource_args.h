// Parses the arguments that select objects: `pods`, `deploy,rs`, `deploy/x svc/y`, `deploy x y`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"

namespace flyball::cli {

// One kind and the names of the selected objects; without names, all objects (or those that match a
// selector).
struct ResourceArg {
  KindRef kind;
  std::vector<std::string> names;
};

// In the order given. Categories ("all") expand to their kinds. Errors are kubectl's.
Result<std::vector<ResourceArg>> ParseResourceArgs(Session& session, const std::vector<std::string>& args);

// One object by name.
struct ObjectRef {
  KindRef kind;
  std::string ns, name;
};
// Returns the objects that the arguments name; without names, those that match the selector (all of them if
// `all`).
struct Selection {
  std::string label_selector, field_selector;
  bool all = false;
  bool all_namespaces = false;
};
Result<std::vector<ObjectRef>> ResolveObjects(Session& session, const std::vector<std::string>& args,
                                              const Selection& selection);

// The items of a list, with apiVersion and kind added to each, because the server omits them.
Result<std::vector<json::Value>> ListObjects(Session& session, const KindRef& kind, std::string_view ns,
                                             std::string_view label_selector = {},
                                             std::string_view field_selector = {});

// The server's refusal to list a kind, with kubectl's words around it.
Error ListError(const Error& error, const KindRef& kind, std::string_view label_selector,
                std::string_view field_selector);

// "deployment.apps", "pod".
std::string TypeName(const KindRef& kind);
// "deployment.apps/web".
std::string DisplayName(const KindRef& kind, std::string_view name);

}  // namespace flyball::cli
