#include "cli/up/status_line.h"

#include <unistd.h>

#include <sstream>

#include "api/types/core.h"
#include "base/files/durable_file.h"
#include "base/observe/log_output.h"
#include "controller/objects/owner.h"

namespace flyball::cli {
namespace {

// What of this process is in memory; 0 where the system does not say.
std::int64_t ResidentBytes() {
  const auto text = ReadFile("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  if (text) std::istringstream(*text) >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// "1h 2m 3s", without what is zero in front.
std::string AgeText(Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  std::string text = std::to_string(seconds % 60) + "s";
  if (seconds >= 60) text = std::to_string(seconds / 60 % 60) + "m " + text;
  if (seconds >= 3600) text = std::to_string(seconds / 3600) + "h " + text;
  return text;
}

}  // namespace

void ClusterTally::SeeNode(const std::string& name, bool ready) {
  MutexLock lock(mu_);
  nodes_[name] = ready;
}

void ClusterTally::ForgetNode(const std::string& name) {
  MutexLock lock(mu_);
  nodes_.erase(name);
}

void ClusterTally::MovePod(const std::string& from, const std::string& to) {
  MutexLock lock(mu_);
  if (!from.empty() && --phases_[from] == 0) phases_.erase(from);
  if (!to.empty()) ++phases_[to];
}

std::string ClusterTally::Text() const {
  MutexLock lock(mu_);
  std::size_t ready = 0;
  for (const auto& [name, is_ready] : nodes_) ready += is_ready ? 1 : 0;
  std::string text = std::to_string(ready) + " of " + std::to_string(nodes_.size()) +
                     (nodes_.size() == 1 ? " node ready, " : " nodes ready, ");
  int pods = 0;
  std::string by_phase;
  for (const auto& [phase, count] : phases_) {
    pods += count;
    by_phase += (by_phase.empty() ? " (" : ", ") + std::to_string(count) + " " + phase;
  }
  return text + std::to_string(pods) + (pods == 1 ? " pod" : " pods") + by_phase +
         (by_phase.empty() ? "" : ")");
}

StatusLine::StatusLine(InformerFactory& informers)
    : ticker_(
          [this] {
            return tally_->Text() + ", " + SizeText(ResidentBytes()) + ", up " +
                   AgeText(RealClock().Steady() - since_);
          },
          std::chrono::seconds(1)) {
  if (!ticker_.active()) return;
  Follow(informers);
  log::SetOutput([this](std::string_view line) {
    ticker_.Print(
        [&] { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size()); });
  });
}

StatusLine::~StatusLine() {
  if (ticker_.active()) log::SetOutput(nullptr);
}

void StatusLine::Follow(InformerFactory& informers) {
  const auto see = [tally = tally_](const Node& node) {
    tally->SeeNode(node.metadata.name, IsConditionTrue(node.status.conditions, "Ready"));
  };
  informers.For<Node>().AddHandler(
      {.on_add = [see](const auto& node, bool) { see(*node); },
       .on_update = [see](const auto&, const auto& node) { see(*node); },
       .on_delete = [tally = tally_](const auto& node, bool) { tally->ForgetNode(node->metadata.name); }});
  informers.For<Pod>().AddHandler(
      {.on_add = [tally = tally_](const auto& pod, bool) { tally->MovePod("", pod->status.phase); },
       .on_update = [tally = tally_](
                        const auto& old,
                        const auto& pod) { tally->MovePod(old->status.phase, pod->status.phase); },
       .on_delete = [tally = tally_](const auto& pod, bool) { tally->MovePod(pod->status.phase, ""); }});
}

}  // namespace flyball::cli
