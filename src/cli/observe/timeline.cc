#include "cli/observe/timeline.h"

#include <algorithm>
#include <cstdio>

#include "cli/kubectl/session/elements.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kMostFields = 5;

std::string TextOf(const json::Value& value) {
  return std::string(value.string_or(""));
}

// The fields of a field set, two levels deep: "spec.replicas", "metadata.labels".
void AddFields(const json::Value& set, const std::string& prefix, int depth, std::vector<std::string>& out) {
  if (!set.is_object()) return;
  for (const auto& [key, below] : set.as_object()) {
    if (!key.starts_with("f:")) continue;
    const std::string path = prefix + (prefix.empty() ? "" : ".") + key.substr(2);
    const std::size_t before = out.size();
    if (depth > 1) AddFields(below, path, depth - 1, out);
    if (out.size() == before) out.push_back(path);
  }
}

std::string FieldsText(const json::Value& set) {
  std::vector<std::string> fields;
  AddFields(set, "", 2, fields);
  std::string text;
  for (std::size_t i = 0; i < fields.size() && i < kMostFields; ++i) text += (i ? ", " : "") + fields[i];
  if (fields.size() > kMostFields) text += " and " + std::to_string(fields.size() - kMostFields) + " more";
  return text;
}

double NumberOf(const json::Value& value) {
  return value.is_number() ? value.as_double() : 0;
}

// "1.2 ms", "3.4 s".
std::string DurationText(double seconds) {
  char text[32];
  if (seconds < 1)
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1000);
  else
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

bool IsAbout(const FamilyMember& member, std::string_view ns, std::string_view name) {
  return member.object["metadata"]["name"].string_or("") == name &&
         member.object["metadata"]["namespace"].string_or("") == ns;
}

}  // namespace

void AddWrites(const FamilyMember& member, std::vector<TimelineEntry>& to) {
  const json::Value& metadata = member.object["metadata"];
  to.push_back({TextOf(metadata["creationTimestamp"]), "", member.Name(), "created"});
  for (const json::Value& manager : Elements(metadata["managedFields"])) {
    const std::string part = TextOf(manager["subresource"]);
    const std::string verb = manager["operation"].string_or("") == "Apply" ? "applied " : "wrote ";
    to.push_back({TextOf(manager["time"]), TextOf(manager["manager"]), member.Name(),
                  verb + FieldsText(manager["fieldsV1"]) + (part.empty() ? "" : " through /" + part)});
  }
  if (const std::string deleted = TextOf(metadata["deletionTimestamp"]); !deleted.empty())
    to.push_back({deleted, "", member.Name(), "is being deleted, by then at the latest"});
}

void AddEvent(const FamilyMember& member, const json::Value& event, std::vector<TimelineEntry>& to) {
  std::string when = TextOf(event["series"]["lastObservedTime"]);
  for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (when.empty()) when = TextOf(event[field]);
  if (when.empty()) when = TextOf(event["metadata"]["creationTimestamp"]);
  std::string who = TextOf(event["reportingComponent"]);
  if (who.empty()) who = TextOf(event["source"]["component"]);
  const std::int64_t count = event["count"].is_int() ? event["count"].as_int() : 1;
  to.push_back({when, who, member.Name(),
                TextOf(event["type"]) + " " + TextOf(event["reason"]) + ": " + TextOf(event["message"]) +
                    (count > 1 ? " (" + std::to_string(count) + " times)" : "")});
}

void AddReconcile(const FamilyMember& member, const json::Value& record, std::vector<TimelineEntry>& to) {
  if (record["kind"].string_or("") != member.kind.kind) return;
  if (!IsAbout(member, record["namespace"].string_or(""), record["name"].string_or(""))) return;
  const std::string cause = TextOf(record["cause"]);
  std::string text = "reconciled";
  if (!cause.empty()) text += " because " + cause;
  text += ", waited " + DurationText(NumberOf(record["waitedSeconds"])) + ", took " +
          DurationText(NumberOf(record["tookSeconds"]));
  std::string writes;
  for (const json::Value& write : Elements(record["writes"]))
    writes += (writes.empty() ? ", wrote " : ", ") + TextOf(write);
  text += writes + ": " + TextOf(record["outcome"]);
  to.push_back({TextOf(record["began"]), TextOf(record["controller"]), member.Name(), text});
}

void AddAuditLine(const FamilyMember& member, const json::Value& line, std::vector<TimelineEntry>& to) {
  const json::Value& about = line["objectRef"];
  const std::string verb = TextOf(line["verb"]);
  const bool read = verb == "get" || verb == "list" || verb == "watch";
  if (read || line["stage"].string_or("") != "ResponseComplete") return;
  if (about["resource"].string_or("") != member.kind.plural ||
      about["apiGroup"].string_or("") != member.kind.group)
    return;
  if (!IsAbout(member, about["namespace"].string_or(""), about["name"].string_or(""))) return;
  const std::string part = TextOf(about["subresource"]);
  const std::int64_t code =
      line["responseStatus"]["code"].is_int() ? line["responseStatus"]["code"].as_int() : 0;
  to.push_back({TextOf(line["requestReceivedTimestamp"]), TextOf(line["user"]["username"]), member.Name(),
                "audit: " + verb + (part.empty() ? "" : " /" + part) + " answered " + std::to_string(code)});
}

void SortByTime(std::vector<TimelineEntry>& entries) {
  // RFC 3339 in UTC sorts as text, and '.' comes before 'Z'; without a fraction is to be first.
  const auto key = [](const TimelineEntry& entry) {
    std::string text = entry.when;
    if (text.ends_with('Z')) text.pop_back();
    return text;
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const TimelineEntry& a, const TimelineEntry& b) { return key(a) < key(b); });
}

}  // namespace flyball::cli
