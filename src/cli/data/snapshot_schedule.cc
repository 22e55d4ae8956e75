#include "cli/data/snapshot_schedule.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "api/values/time.h"
#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "cli/data/data_folder.h"
#include "store/sqlite/sqlite_store.h"

namespace flyball::cli {
namespace {

constexpr std::string_view kNameStart = "snapshot-", kNameEnd = ".db";

// "snapshot-2026-11-18T01-23-45Z.db": names sort by time, and no file system minds them.
std::string NameAt(TimePoint time) {
  std::string stamp = api::FormatTime(time);
  std::replace(stamp.begin(), stamp.end(), ':', '-');
  return std::string(kNameStart) + stamp + std::string(kNameEnd);
}

bool IsSnapshotName(const std::string& name) {
  return name.starts_with(kNameStart) && name.ends_with(kNameEnd);
}

// Oldest first.
std::vector<std::string> SnapshotsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ec))
    if (IsSnapshotName(entry.path().filename().string())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<TimePoint> TimeOfName(const std::string& name) {
  std::string stamp = name.substr(kNameStart.size(), name.size() - kNameStart.size() - kNameEnd.size());
  std::replace(std::find(stamp.begin(), stamp.end(), 'T'), stamp.end(), '-', ':');
  FLYBALL_ASSIGN(const api::Time time, api::ParseTime(stamp));
  return time.ToTimePoint();
}

}  // namespace

Result<std::string> ReadPassphrase(const std::string& path) {
  if (path.empty()) return std::string();
  FLYBALL_ASSIGN(std::string text, ReadFile(path));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return Unexpected(BadRequest("the passphrase file " + path + " is empty"));
  return text;
}

Result<std::unique_ptr<SnapshotSchedule>> SnapshotSchedule::Start(std::string data_dir,
                                                                  const SnapshotScheduleOptions& options,
                                                                  Metrics& metrics) {
  if (options.count < 1) return Unexpected(BadRequest("--snapshot-count must be at least 1"));
  FLYBALL_ASSIGN(std::string passphrase, ReadPassphrase(options.passphrase_file));
  std::string folder = options.folder.empty() ? data_dir + "/snapshots" : options.folder;
  FLYBALL_TRY(MakePrivateFolder(folder));
  return std::unique_ptr<SnapshotSchedule>(
      new SnapshotSchedule(std::move(data_dir), std::move(folder), options, std::move(passphrase), metrics));
}

SnapshotSchedule::SnapshotSchedule(std::string data_dir, std::string folder,
                                   const SnapshotScheduleOptions& options, std::string passphrase,
                                   Metrics& metrics)
    : data_dir_(std::move(data_dir)),
      folder_(std::move(folder)),
      interval_(options.interval),
      count_(static_cast<std::size_t>(options.count)),
      passphrase_(std::move(passphrase)),
      metrics_(metrics),
      thread_("snapshot", 1),
      alarm_(thread_, [this] { Ring(); }) {
  alarm_.Set(thread_.clock().Steady() + UntilDue());
}

Duration SnapshotSchedule::UntilDue() const {
  const auto names = SnapshotsIn(folder_);
  if (names.empty()) return Duration::zero();
  const auto newest = TimeOfName(names.back());
  if (!newest) return Duration::zero();
  const Duration left = *newest + interval_ - thread_.clock().Now();
  return std::clamp<Duration>(left, Duration::zero(), interval_);
}

void SnapshotSchedule::Ring() {
  const Status saved = Save();
  metrics_
      .GetCounter("flyball_store_snapshots_total", "Scheduled snapshots of the store.",
                  {{"status", saved ? "success" : "failure"}})
      .Add();
  if (saved) {
    metrics_
        .GetGauge("flyball_store_snapshot_last_success_timestamp_seconds",
                  "When the last scheduled snapshot was saved.")
        .Set(std::chrono::duration<double>(thread_.clock().Now().time_since_epoch()).count());
    RemoveOld();
  } else {
    log::Error("cannot save the scheduled snapshot", {{"error", saved.error().message()}});
  }
  alarm_.Set(thread_.clock().Steady() + interval_);
}

Status SnapshotSchedule::Save() {
  FLYBALL_ASSIGN(auto files, CollectKeyFiles(data_dir_));
  const std::string path = folder_ + "/" + NameAt(thread_.clock().Now());
  FLYBALL_TRY(store::SaveSnapshot(DatabasePath(data_dir_), path, {std::move(files), passphrase_}));
  log::Info("saved a snapshot", {{"path", path}});
  return {};
}

void SnapshotSchedule::RemoveOld() const {
  auto names = SnapshotsIn(folder_);
  for (std::size_t i = 0; i + count_ < names.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(folder_ + "/" + names[i], ignored);
  }
}

}  // namespace flyball::cli
