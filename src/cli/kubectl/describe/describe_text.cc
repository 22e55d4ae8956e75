#include "cli/kubectl/describe/describe_text.h"

#include <algorithm>
#include <ctime>

#include "api/apply/last_applied.h"
#include "api/values/time.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kEvents{"", "v1", "Event", "events", true};

std::string Pairs(std::string_view title, const json::Value& map, std::string_view between) {
  std::string out = std::string(title) + ":\t";
  json::Object sorted;
  if (map.is_object())
    for (const auto& [key, value] : map.as_object())
      if (key != api::kLastAppliedAnnotation) sorted.Append(key, value);
  if (sorted.empty()) return out + "<none>\n";
  sorted.SortKeys();
  bool first = true;
  for (const auto& [key, value] : sorted)
    out += (std::exchange(first, false) ? "" : "\t") + key + std::string(between) +
           std::string(value.string_or("")) + "\n";
  return out;
}

// Formats ages as kubectl does: two units if the first is small.
std::string HumanAge(std::int64_t seconds) {
  const auto text = [](std::int64_t a, const char* unit, std::int64_t b = 0, const char* unit_b = "") {
    return std::to_string(a) + unit + (b ? std::to_string(b) + unit_b : "");
  };
  if (seconds < 0) seconds = 0;
  if (seconds < 120) return text(seconds, "s");
  const std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  if (minutes < 10) return text(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return text(minutes, "m");
  if (hours < 8) return text(hours, "h", minutes % 60, "m");
  if (hours < 48) return text(hours, "h");
  if (days < 8) return text(days, "d", hours % 24, "h");
  if (days < 730) return text(days, "d");
  return text(days / 365, "y", days % 365, "d");
}

const json::Value& LastSeen(const json::Value& event) {
  if (event["series"]["lastObservedTime"].is_string()) return event["series"]["lastObservedTime"];
  if (event["lastTimestamp"].is_string()) return event["lastTimestamp"];
  return event["eventTime"].is_string() ? event["eventTime"] : event["metadata"]["creationTimestamp"];
}

std::string EventLine(const Session& session, const json::Value& event) {
  std::string_view from = event["source"]["component"].string_or("");
  if (from.empty()) from = event["reportingComponent"].string_or("");
  std::string message(event["message"].string_or(""));
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return "  " + std::string(event["type"].string_or("")) + "\t" + std::string(event["reason"].string_or("")) +
         "\t" + EventAge(session, event) + "\t" + std::string(from) + "\t" + message + "\n";
}

}  // namespace

std::string LabelLines(std::string_view title, const json::Value& labels) {
  return Pairs(title, labels, "=");
}
std::string AnnotationLines(std::string_view title, const json::Value& annotations) {
  return Pairs(title, annotations, ": ");
}

std::string NameLines(const json::Value& object) {
  std::string out = "Name:\t" + std::string(object["metadata"]["name"].string_or("")) + "\n";
  const std::string_view ns = object["metadata"]["namespace"].string_or("");
  return ns.empty() ? out : out + "Namespace:\t" + std::string(ns) + "\n";
}

std::string LongTime(const json::Value& time) {
  const auto parsed = api::ParseTime(time.string_or(""));
  if (!parsed) return "<unknown>";
  const std::time_t seconds = static_cast<std::time_t>(parsed->seconds);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S %z", &parts);
  return std::string(text, length);
}

std::string AgeSince(const Session& session, const json::Value& time) {
  const auto parsed = api::ParseTime(time.string_or(""));
  if (!parsed) return "<unknown>";
  return HumanAge(api::Time::From(session.clock().Now()).seconds - parsed->seconds);
}

std::string TextOr(const json::Value& value, std::string_view none) {
  return value.is_null() ? std::string(none) : PathText(value);
}

std::string SelectorText(const json::Value& selector) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ",") + part; };
  if (selector["matchLabels"].is_object()) {
    json::Object sorted = selector["matchLabels"].as_object();
    sorted.SortKeys();
    for (const auto& [key, value] : sorted) add(key + "=" + std::string(value.string_or("")));
  }
  if (selector["matchExpressions"].is_array())
    for (const json::Value& expression : selector["matchExpressions"].as_array()) {
      const std::string key(expression["key"].string_or(""));
      const std::string_view op = expression["operator"].string_or("");
      std::string values;
      if (expression["values"].is_array())
        for (const json::Value& v : expression["values"].as_array())
          values += (values.empty() ? "" : ",") + std::string(v.string_or(""));
      if (op == "Exists")
        add(key);
      else if (op == "DoesNotExist")
        add("!" + key);
      else
        add(key + (op == "In" ? " in (" : " notin (") + values + ")");
    }
  return out.empty() ? "<none>" : out;
}

std::string ControllerText(const json::Value& object) {
  const json::Value& owners = object["metadata"]["ownerReferences"];
  if (owners.is_array())
    for (const json::Value& owner : owners.as_array())
      if (owner["controller"].bool_or(false))
        return std::string(owner["kind"].string_or("")) + "/" + std::string(owner["name"].string_or(""));
  return "";
}

std::string EventAge(const Session& session, const json::Value& event) {
  const std::int64_t count = event["series"]["count"].int_or(event["count"].int_or(1));
  const std::string age = AgeSince(session, LastSeen(event));
  if (count <= 1) return age;
  const json::Value& first =
      event["firstTimestamp"].is_string() ? event["firstTimestamp"] : event["eventTime"];
  return age + " (x" + std::to_string(count) + " over " + AgeSince(session, first) + ")";
}

Result<std::vector<json::Value>> EventsBySelector(Session& session, const std::string& ns,
                                                  const std::string& field_selector) {
  FLYBALL_ASSIGN(auto events, ListObjects(session, kEvents, ns, "", field_selector));
  std::stable_sort(events.begin(), events.end(), [](const json::Value& a, const json::Value& b) {
    return LastSeen(a).string_or("") < LastSeen(b).string_or("");
  });
  return events;
}

std::string EventLines(Session& session, const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  const std::string ns(metadata["namespace"].string_or(""));
  std::string selector = "involvedObject.name=" + std::string(metadata["name"].string_or(""));
  selector += ",involvedObject.kind=" + std::string(object["kind"].string_or(""));
  if (!ns.empty()) selector += ",involvedObject.namespace=" + ns;
  // A node's own events refer to it by name instead of its uid.
  if (object["kind"].string_or("") != "Node")
    selector += ",involvedObject.uid=" + std::string(metadata["uid"].string_or(""));
  const auto events = EventsBySelector(session, ns, selector);
  if (!events || events->empty()) return "Events:\t<none>\n";
  std::string out = "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------\n";
  for (const json::Value& event : *events) out += EventLine(session, event);
  return out;
}

std::string MetadataLines(const json::Value& object) {
  return NameLines(object) + LabelLines("Labels", object["metadata"]["labels"]) +
         AnnotationLines("Annotations", object["metadata"]["annotations"]);
}

std::string Joined(const json::Value& list, const char* between) {
  std::string out;
  if (list.is_array())
    for (const json::Value& item : list.as_array()) out += (out.empty() ? "" : between) + TextOr(item, "");
  return out;
}

}  // namespace flyball::cli
