#include <memory>

#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct WaitFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string what, timeout = "30s";
};

using Condition = std::function<Result<bool>(const json::Value* object)>;

bool HasCondition(const json::Value& object, std::string_view type, std::string_view status) {
  const json::Value& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) return false;
  for (const json::Value& condition : conditions.as_array()) {
    if (LowerCase(condition["type"].string_or("")) != LowerCase(type)) continue;
    // A condition for an older spec does not count yet.
    const std::int64_t observed =
        condition["observedGeneration"].int_or(object["status"]["observedGeneration"].int_or(0));
    if (observed != 0 && observed < object["metadata"]["generation"].int_or(0)) return false;
    return LowerCase(condition["status"].string_or("")) == LowerCase(status);
  }
  return false;
}

Result<Condition> PathCondition(std::string text) {
  // {.path}=value, or {.path} alone, which requires any value.
  const std::size_t close = text.rfind('}');
  const std::size_t equals = close == std::string::npos ? text.find('=') : text.find('=', close);
  const bool has_value = equals != std::string::npos;
  const std::string value = has_value ? text.substr(equals + 1) : "";
  auto path = api::JsonPath::Parse(text.substr(0, equals));
  if (!path) return Unexpected(LocalError("error parsing jsonpath " + text + ", " + path.error().message()));
  return Condition([path = *path, value, has_value](const json::Value* object) -> Result<bool> {
    if (!object) return false;
    const json::Value* found = path.First(*object);
    return found && !found->is_null() && (!has_value || PathText(*found) == value);
  });
}

// Null for deletion.
Result<Condition> ParseCondition(const std::string& what) {
  if (what == "delete") return Condition();
  if (what.rfind("jsonpath=", 0) == 0) return PathCondition(what.substr(9));
  if (what == "create")
    return Condition([](const json::Value* object) -> Result<bool> { return object != nullptr; });
  if (what.rfind("condition=", 0) == 0) {
    const auto parts = SplitText(what.substr(10), '=');
    return Condition([type = parts[0], status = parts.size() > 1 ? parts[1] : "true"](
                         const json::Value* object) -> Result<bool> {
      return object && HasCondition(*object, type, status);
    });
  }
  return Unexpected(LocalError("unrecognized condition: \"" + what + "\""));
}

Status WaitForOne(Session& session, const Condition& condition, const ObjectRef& object, Duration timeout,
                  bool creation) {
  std::string uid;
  if (!creation) {
    auto now = session.Get(object.kind, object.ns, object.name);
    if (!now && now.error().Is(Reason::kNotFound) && !condition) return {};
    if (!now) return Unexpected(now.error());
    uid = (*std::as_const(now))["metadata"]["uid"].string_or("");
  }
  if (!condition) return WaitUntilGone(session, object, uid, timeout);
  return WaitForObject(session, object, timeout, condition);
}

Status RunWait(Session& session, const WaitFlags& flags) {
  if (flags.what.empty()) return Unexpected(LocalError("unrecognized condition: []"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const Condition condition, ParseCondition(flags.what));
  auto timeout = api::ParseDuration(flags.timeout);
  if (!timeout)
    return Unexpected(LocalError("invalid argument \"" + flags.timeout +
                                 "\" for \"--timeout\" flag: " + timeout.error().message()));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, flags.selection));
  if (objects.empty() && condition) return Unexpected(LocalError("no matching resources found"));
  for (const ObjectRef& object : objects) {
    // What is waited for to go and is not there is not worth a word.
    const bool was_there = condition || session.Get(object.kind, object.ns, object.name);
    if (Status s = WaitForOne(session, condition, object, *timeout, flags.what == "create"); !s) {
      const bool late = flags.what == "create" && s.error().message().starts_with("timed out");
      session.Report(late ? LocalError("timed out waiting for the condition") : s.error());
      continue;
    }
    if (!condition && !was_there) continue;
    if (printer) {
      FLYBALL_ASSIGN(const json::Value now, session.Get(object.kind, object.ns, object.name));
      FLYBALL_TRY(PrintTo(session.out(), *printer, now));
      continue;
    }
    session.out() << DisplayName(object.kind, object.name) << " condition met\n" << std::flush;
  }
  return {};
}

}  // namespace

void AddWaitCommand(const Command& root) {
  auto flags = std::make_shared<WaitFlags>();
  const Command command = root.Sub("wait", "Wait until objects are as they should be",
                                   "flyball wait --for=condition=Available deploy/web --timeout=60s");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  command.Option("--for", &flags->what, "condition=NAME[=value], jsonpath={.path}[=value], create or delete");
  command.Option("--timeout", &flags->timeout, "How long");
  AddPrintFlags(command, &flags->print);
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  command.Option("--field-selector", &flags->selection.field_selector, "Those with these field values");
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  command.Flag("-A,--all-namespaces", &flags->selection.all_namespaces, "In every namespace");
  RunVerb(command, [flags](Session& session) { return RunWait(session, *flags); });
}

}  // namespace flyball::cli
