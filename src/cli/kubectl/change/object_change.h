// Changes to existing objects that are made here and sent as a patch: for `label`, `annotate`, `set` and
// `patch`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/command/command.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct ChangeFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string dry_run, field_manager;
  bool local = false;  // the objects are those in the files; no server is asked
  bool only_prints() const { return local || dry_run == "client"; }
};
// Everything but the arguments and the selection. `manager` is who owns the fields unless --field-manager
// says so.
void AddChangeFlags(const Command& command, ChangeFlags* flags, const std::string& manager);
// -l, --field-selector, --all and -A.
void AddSelectionFlags(const Command& command, Selection* selection);

struct ChangeTarget {
  ObjectRef ref;
  json::Value object;
};
// The objects that the files describe or `args` name, as the server has them. What cannot be read is reported
// to the session and left out.
Result<std::vector<ChangeTarget>> ChangeTargets(Session& session, const ChangeFlags& flags,
                                                const std::vector<std::string>& args);

// Sends the patch as it is.
Result<json::Value> SendPatch(Session& session, const ChangeFlags& flags, const ObjectRef& ref,
                              std::string_view content_type, const json::Value& patch,
                              std::string_view subresource = {});
// Sends what differs between the target and `changed`, and returns the object after it. With --local and
// --dry-run=client that is `changed`, and nothing is sent.
Result<json::Value> SendChange(Session& session, const ChangeFlags& flags, const ChangeTarget& target,
                               const json::Value& changed);
// Prints the object as -o says, or "deployment.apps/web image updated".
Status SayChange(Session& session, const ChangeFlags& flags, const ObjectRef& ref, const json::Value& after,
                 std::string_view what);

}  // namespace flyball::cli
