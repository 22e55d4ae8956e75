#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct EventsFlags {
  std::string about, types;
  PrintFlags print;
  bool all_namespaces = false, no_headers = false;
};

Result<std::string> SelectorFor(Session& session, const std::string& about) {
  if (about.empty()) return std::string();
  const std::size_t slash = about.find('/');
  if (slash == std::string::npos) return Unexpected(LocalError("--for must be in resource/name form"));
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, {about}, {}));
  return "involvedObject.kind=" + objects[0].kind.kind + ",involvedObject.name=" + objects[0].name;
}

Status CheckTypes(const std::string& types) {
  if (types.empty()) return {};
  for (const std::string& type : SplitText(LowerCase(types), ','))
    if (type != "normal" && type != "warning")
      return Unexpected(LocalError("valid --types are Normal or Warning"));
  return {};
}

bool HasType(const EventsFlags& flags, const json::Value& event) {
  if (flags.types.empty()) return true;
  const auto types = SplitText(LowerCase(flags.types), ',');
  return std::find(types.begin(), types.end(), LowerCase(event["type"].string_or(""))) != types.end();
}

std::string Row(const Session& session, const EventsFlags& flags, const json::Value& event) {
  const json::Value& object = event["involvedObject"];
  const auto text = [&](const char* field) { return std::string(event[field].string_or("")) + "\t"; };
  std::string row;
  if (flags.all_namespaces) row += std::string(event["metadata"]["namespace"].string_or("")) + "\t";
  row += EventAge(session, event) + "\t" + text("type") + text("reason");
  row += std::string(object["kind"].string_or("")) + "/" + std::string(object["name"].string_or("")) + "\t";
  return row + std::string(event["message"].string_or("")) + "\n";
}

Status RunEvents(Session& session, const EventsFlags& flags) {
  FLYBALL_TRY(CheckTypes(flags.types));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const std::string selector, SelectorFor(session, flags.about));
  FLYBALL_ASSIGN(auto events, EventsBySelector(session, flags.all_namespaces ? "" : session.ns(), selector));
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&](const json::Value& event) { return !HasType(flags, event); }),
               events.end());
  if (events.empty()) {
    session.err() << (flags.all_namespaces ? std::string("No events found.\n")
                                           : "No events found in " + session.ns() + " namespace.\n");
    return {};
  }
  if (printer) return PrintTo(session.out(), *printer, ListOf(std::move(events)));
  TabWriter writer = TableWriter();
  if (!flags.no_headers)
    writer.Write(std::string(flags.all_namespaces ? "NAMESPACE\t" : "") +
                 "LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n");
  for (const json::Value& event : events) writer.Write(Row(session, flags, event));
  session.out() << writer.Take();
  return {};
}

}  // namespace

void AddEventsCommand(const Command& root) {
  auto flags = std::make_shared<EventsFlags>();
  const Command command =
      root.Sub("events", "Show what happened, oldest first", "flyball events --for deploy/web");
  command.Option("--for", &flags->about, "Only those about this object: deploy/web");
  command.Option("--types", &flags->types, "Only these: Warning, Normal");
  command.Flag("-A,--all-namespaces", &flags->all_namespaces, "In every namespace");
  AddPrintFlags(command, &flags->print);
  command.Flag("--no-headers", &flags->no_headers, "Leave out the line of headers");
  RunVerb(command, [flags](Session& session) { return RunEvents(session, *flags); });
}

}  // namespace flyball::cli
