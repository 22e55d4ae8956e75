#include <algorithm>
#include <fstream>
#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/observe/observe_commands.h"
#include "cli/observe/timeline.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(500);
constexpr const char* kRecordsPage = "/debug/components/reconciles";

struct TraceFlags {
  std::vector<std::string> args;
  std::string audit_log;
  bool follow = false;
};

json::Value EventsOf(Session& session, const std::string& ns) {
  auto events =
      session.Call(RawRequest(ns.empty() ? "/api/v1/events" : "/api/v1/namespaces/" + ns + "/events"));
  return events ? std::move(*events) : json::Value();
}

// What controllers in the API server's process recorded; null if there are none, or it may not be read.
json::Value RecordsOf(Session& session) {
  auto records = session.Call(RawRequest(kRecordsPage));
  return records ? std::move(*records) : json::Value();
}

Status AddAuditLog(const std::string& path, const std::vector<FamilyMember>& family,
                   std::vector<TimelineEntry>& to) {
  std::ifstream in(path);
  if (!in) return Unexpected(LocalError("cannot read " + path));
  for (std::string text; std::getline(in, text);) {
    const auto line = json::Parse(text);
    if (!line) continue;  // the last one, half written
    for (const FamilyMember& member : family) AddAuditLine(member, *line, to);
  }
  return {};
}

Result<std::vector<TimelineEntry>> TimelineOf(Session& session, const TraceFlags& flags,
                                              const ObjectRef& head) {
  FLYBALL_ASSIGN(const auto family, FamilyOf(session, head.kind, head.ns, head.name));
  const json::Value events = EventsOf(session, head.ns);
  const json::Value records = RecordsOf(session);
  std::vector<TimelineEntry> entries;
  for (const FamilyMember& member : family) {
    AddWrites(member, entries);
    for (const json::Value& event : Elements(events["items"]))
      if (event["involvedObject"]["uid"].string_or("") == member.object["metadata"]["uid"].string_or("-"))
        AddEvent(member, event, entries);
    for (const json::Value& record : Elements(records["items"])) AddReconcile(member, record, entries);
  }
  if (!flags.audit_log.empty()) FLYBALL_TRY(AddAuditLog(flags.audit_log, family, entries));
  SortByTime(entries);
  return entries;
}

// The time of day, from RFC 3339.
std::string ClockText(const std::string& when) {
  if (when.size() < 19) return when;
  const std::size_t end = when.find('Z');
  return when.substr(11, std::min<std::size_t>(end == std::string::npos ? when.size() : end, 23) - 11);
}

void PrintEntries(Session& session, TabWriter& writer, const std::vector<TimelineEntry>& entries) {
  for (const TimelineEntry& entry : entries)
    writer.Write(ClockText(entry.when) + "\t" + (entry.who.empty() ? "-" : entry.who) + "\t" + entry.object +
                 "\t" + entry.what + "\n");
  session.out() << writer.Take() << std::flush;
}

// Prints what was not there the last time, until the object is gone.
Status Follow(Session& session, const TraceFlags& flags, const ObjectRef& head, TabWriter& writer,
              std::vector<TimelineEntry> shown) {
  for (;;) {
    session.Pause(kLookAgain);
    auto entries = TimelineOf(session, flags, head);
    if (!entries && entries.error().Is(Reason::kNotFound)) {
      session.out() << head.kind.kind << " " << head.name << " is gone\n";
      return {};
    }
    if (!entries) return Unexpected(entries.error());
    std::vector<TimelineEntry> fresh;
    for (const TimelineEntry& entry : *entries)
      if (std::find(shown.begin(), shown.end(), entry) == shown.end()) fresh.push_back(entry);
    PrintEntries(session, writer, fresh);
    shown.insert(shown.end(), fresh.begin(), fresh.end());
  }
}

Status RunTrace(Session& session, const TraceFlags& flags) {
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, flags.args, {}));
  if (objects.size() != 1) return Unexpected(session.UsageError("one object has to be named: deploy/web"));
  FLYBALL_ASSIGN(auto entries, TimelineOf(session, flags, objects[0]));
  TabWriter writer = TableWriter();
  writer.RememberWidths();
  writer.Write("TIME\tWHO\tOBJECT\tWHAT\n");
  PrintEntries(session, writer, entries);
  return flags.follow ? Follow(session, flags, objects[0], writer, std::move(entries)) : Status();
}

}  // namespace

void AddTraceCommand(const Command& root) {
  auto flags = std::make_shared<TraceFlags>();
  const Command command =
      root.Sub("trace", "Show what everybody did to an object and to what it owns, in order of time",
               "flyball trace deploy/web -f");
  command.Args("KIND/NAME", &flags->args, "The object");
  command.Required("KIND/NAME");
  command.Flag("-f,--follow", &flags->follow, "Go on with what happens next");
  command.Option("--audit-log", &flags->audit_log, "Also the changes in this audit log of the API server");
  RunVerb(command, [flags](Session& session) { return RunTrace(session, *flags); });
}

}  // namespace flyball::cli
