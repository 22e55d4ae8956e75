// What a person types to say which objects are meant: `pods`, `deploy,rs`, `deploy/x svc/y`, `deploy x y`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"

namespace flyball::cli {

// One kind, and the objects of it that are meant; all of them (or those a selector takes) if there are no
// names.
struct ResourceArg {
  KindRef kind;
  std::vector<std::string> names;
};

// In the order they were typed. Categories ("all") stand for their kinds. Errors are kubectl's.
Result<std::vector<ResourceArg>> ParseResourceArgs(Session& session, const std::vector<std::string>& args);

// One object by name.
struct ObjectRef {
  KindRef kind;
  std::string ns, name;
};
// Those the arguments name; where there are none, those the selector takes (all of them if `all`).
struct Selection {
  std::string label_selector, field_selector;
  bool all = false;
  bool all_namespaces = false;
};
Result<std::vector<ObjectRef>> ResolveObjects(Session& session, const std::vector<std::string>& args,
                                              const Selection& selection);

// The items of a list, with apiVersion and kind put into each, which the server leaves out.
Result<std::vector<json::Value>> ListObjects(Session& session, const KindRef& kind, std::string_view ns,
                                             std::string_view label_selector = {},
                                             std::string_view field_selector = {});

// "deployment.apps", "pod".
std::string TypeName(const KindRef& kind);
// "deployment.apps/web".
std::string DisplayName(const KindRef& kind, std::string_view name);

}  // namespace flyball::cli
