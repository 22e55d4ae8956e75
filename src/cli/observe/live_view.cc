#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/session.h"
#include "cli/observe/metrics_text.h"
#include "cli/observe/observe_commands.h"

namespace flyball::cli {
namespace {

// Clears what follows, after going to the top left corner.
constexpr const char* kHome = "\x1b[H\x1b[J";

struct LiveFlags {
  bool once = false;
  int seconds = 1;
};

// What is known at one moment.
struct Snapshot {
  SteadyTime at{};
  MetricsPage server, components;  // the second is empty if no controllers run in the server's process
  json::Value version, pods, nodes;
};

MetricsPage PageAt(Session& session, const std::string& path) {
  const auto text = session.CallText(RawRequest(path));
  return text ? MetricsPage(*text) : MetricsPage();
}

json::Value ListAt(Session& session, const std::string& path) {
  auto list = session.Call(RawRequest(path));
  return list ? std::move(*list) : json::Value();
}

Result<Snapshot> Look(Session& session) {
  Snapshot now;
  FLYBALL_ASSIGN(now.version, session.Call(RawRequest("/version")));
  now.at = session.clock().Steady();
  now.server = PageAt(session, "/metrics");
  now.components = PageAt(session, "/debug/components/metrics");
  now.pods = ListAt(session, "/api/v1/pods?resourceVersion=0");
  now.nodes = ListAt(session, "/api/v1/nodes?resourceVersion=0");
  return now;
}

std::string Number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1.5 ms"; "-" for nothing.
std::string SecondsText(double seconds) {
  if (seconds <= 0) return "-";
  return seconds < 1 ? Number("%.1f ms", seconds * 1000) : Number("%.1f s", seconds);
}

std::string BytesText(double bytes) {
  return bytes < (1 << 20) ? Number("%.0f KiB", bytes / 1024) : Number("%.1f MiB", bytes / (1 << 20));
}

// How often a second a counter went up between two moments.
class Rates {
 public:
  Rates(const Snapshot& before, const Snapshot& after)
      : seconds_(std::max(0.001, std::chrono::duration<double>(after.at - before.at).count())) {}
  std::string Text(const MetricsPage& before, const MetricsPage& after, const std::string& name,
                   const std::string& label = {}, const std::string& value = {}) const {
    return Number("%.1f/s", (after.Sum(name, label, value) - before.Sum(name, label, value)) / seconds_);
  }

 private:
  const double seconds_;
};

std::string Counted(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text.empty() ? "none" : text;
}

std::string PodsText(const json::Value& pods) {
  std::map<std::string, int> phases;
  for (const json::Value& pod : Elements(pods["items"]))
    ++phases[std::string(pod["status"]["phase"].string_or("?"))];
  return Counted(phases);
}

bool IsReady(const json::Value& node) {
  for (const json::Value& condition : Elements(node["status"]["conditions"]))
    if (condition["type"].string_or("") == "Ready") return condition["status"].string_or("") == "True";
  return false;
}

std::string NodesText(const json::Value& nodes) {
  std::map<std::string, int> states;
  for (const json::Value& node : Elements(nodes["items"])) ++states[IsReady(node) ? "ready" : "not ready"];
  return Counted(states);
}

std::string Summary(Session& session, const Snapshot& before, const Snapshot& after) {
  const Rates rates(before, after);
  const MetricsPage &old = before.server, &now = after.server;
  TabWriter writer(0, 2);
  writer.Write("server\t" + session.url() + ", " + std::string(after.version["gitVersion"].string_or("")) +
               "\n");
  writer.Write("requests\t" + rates.Text(old, now, "apiserver_request_total") + ", 99 % within " +
               SecondsText(QuantileBetween(old, now, "apiserver_request_duration_seconds", 0.99)) + ", " +
               Number("%.0f running", now.Sum("apiserver_current_inflight_requests")) + ", " +
               Number("%.0f long-running", now.Sum("apiserver_longrunning_requests")) + "\n");
  writer.Write("store\t" + BytesText(now.Sum("apiserver_storage_size_bytes")) + ", " +
               Number("%.0f keys", now.Sum("flyball_store_keys")) + ", " +
               Number("revision %.0f", now.Sum("flyball_store_revision")) + ", writes " +
               rates.Text(old, now, "flyball_store_revision") + "\n");
  writer.Write("nodes\t" + NodesText(after.nodes) + "\n");
  writer.Write("pods\t" + PodsText(after.pods) + "\n");
  return writer.Take();
}

// The queues with most to do first.
std::string Queues(const Snapshot& before, const Snapshot& after) {
  const Rates rates(before, after);
  const MetricsPage &old = before.components, &now = after.components;
  auto names = now.Values("workqueue_depth", "name");
  if (names.empty()) return "No controllers run in the server's process: their queues are not seen here.\n";
  const auto busy = [&](const std::string& name) {
    return now.Sum("workqueue_depth", "name", name) * 1000 + now.Sum("workqueue_adds_total", "name", name) -
           old.Sum("workqueue_adds_total", "name", name);
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const auto& a, const auto& b) { return busy(a) > busy(b); });
  TabWriter writer = TableWriter();
  writer.Write("QUEUE\tDEPTH\tADDED\tRETRIED\tWAITED (99 %)\tWORKED (99 %)\tUNFINISHED\n");
  for (const std::string& name : names) {
    const auto quantile = [&](const char* histogram) {
      return SecondsText(QuantileBetween(old, now, histogram, 0.99, "name", name));
    };
    writer.Write(name + "\t" + Number("%.0f", now.Sum("workqueue_depth", "name", name)) + "\t" +
                 rates.Text(old, now, "workqueue_adds_total", "name", name) + "\t" +
                 rates.Text(old, now, "workqueue_retries_total", "name", name) + "\t" +
                 quantile("workqueue_queue_duration_seconds") + "\t" +
                 quantile("workqueue_work_duration_seconds") + "\t" +
                 SecondsText(now.Sum("workqueue_unfinished_work_seconds", "name", name)) + "\n");
  }
  return writer.Take();
}

Status RunLiveView(Session& session, const LiveFlags& flags) {
  if (flags.seconds < 1) return Unexpected(LocalError("--interval is in seconds, at least 1"));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  FLYBALL_ASSIGN(Snapshot before, Look(session));
  do {
    session.Pause(std::chrono::seconds(flags.seconds));
    FLYBALL_ASSIGN(Snapshot after, Look(session));
    if (terminal && !flags.once) session.out() << kHome;
    session.out() << Summary(session, before, after) << "\n" << Queues(before, after) << std::flush;
    before = std::move(after);
  } while (terminal && !flags.once);
  return {};
}

}  // namespace

void AddLiveView(const Command& top) {
  auto flags = std::make_shared<LiveFlags>();
  top.Flag("--once", &flags->once, "Print one picture and end, as when the output is no terminal");
  top.Option("--interval", &flags->seconds, "Seconds between two pictures");
  RunVerb(top, [flags](Session& session) { return RunLiveView(session, *flags); });
}

}  // namespace flyball::cli
