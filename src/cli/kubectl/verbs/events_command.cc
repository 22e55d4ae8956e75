#include <algorithm>
#include <memory>
#include <optional>

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
  bool all_namespaces = false, no_headers = false, watch = false;
  std::optional<std::int64_t> chunk_size;
};

Result<std::string> SelectorFor(Session& session, const std::string& about) {
  if (about.empty()) return std::string();
  const std::size_t slash = about.find('/');
  if (slash == std::string::npos) return Unexpected(LocalError("--for must be in resource/name form"));
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, {about}, {}));
  const KindRef& kind = objects[0].kind;
  return "involvedObject.kind=" + kind.kind + ",involvedObject.apiVersion=" + kind.ApiVersion() +
         ",involvedObject.name=" + objects[0].name;
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

std::string Header(const EventsFlags& flags) {
  if (flags.no_headers) return {};
  return std::string(flags.all_namespaces ? "NAMESPACE\t" : "") +
         "LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n";
}

// --watch: those that are there, then each as it comes.
Status WatchEvents(Session& session, const EventsFlags& flags, const std::string& selector,
                   ObjectPrinter* printer) {
  RestRequest request;
  request.path = KindRef{"", "v1", "Event", "events", true}.Path(flags.all_namespaces ? "" : session.ns());
  request.Query("fieldSelector", selector).Query("watch", "true");
  TabWriter writer = TableWriter();
  writer.RememberWidths();
  writer.Write(Header(flags));
  const auto reader = session.Watch(std::move(request));
  while (const auto event = reader->Next()) {
    if (event->type == WatchEventType::kBookmark || event->type == WatchEventType::kDeleted) continue;
    if (event->type == WatchEventType::kError)
      return Unexpected(
          LocalError(std::string(std::as_const(event->object)["message"].string_or("the watch failed"))));
    if (!HasType(flags, event->object)) continue;
    if (printer) {
      FLYBALL_TRY(PrintTo(session.out(), *printer, event->object));
      continue;
    }
    writer.Write(Row(session, flags, event->object));
    session.out() << writer.Take() << std::flush;
  }
  return session.request_timeout() ? Status() : reader->status();
}

Status RunEvents(Session& session, const EventsFlags& flags) {
  FLYBALL_TRY(CheckTypes(flags.types));
  session.set_chunk_size(flags.chunk_size.value_or(session.chunk_size()));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const std::string selector, SelectorFor(session, flags.about));
  if (flags.watch) return WatchEvents(session, flags, selector, printer.get());
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
  writer.Write(Header(flags));
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
  command.Flag("-w,--watch", &flags->watch, "Go on showing events as they come");
  command.Option("--chunk-size", &flags->chunk_size,
                 "How many events one request lists; 0 reads the list whole");
  command.Flag("--no-headers", &flags->no_headers, "Leave out the line of headers");
  RunVerb(command, [flags](Session& session) { return RunEvents(session, *flags); });
}

}  // namespace flyball::cli
