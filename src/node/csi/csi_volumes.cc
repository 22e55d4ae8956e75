#include "node/csi/csi_volumes.h"

#include <algorithm>

#include "base/observe/log.h"
#include "controller/objects/csi_names.h"
#include "node/plugins/spare_thread.h"

namespace flyball::node {
namespace {

// How soon undoing is tried again (upstream: the back-off of volume operations).
constexpr Duration kFirstSweep = std::chrono::milliseconds(500);
constexpr Duration kLastSweep = std::chrono::seconds(122);

std::string UniqueNameOf(const CsiRecord& record) {
  return CsiUniqueVolumeName(record.driver, record.handle);
}

Error UnmountError(const CsiRecord& record, const Error& error) {
  return error.Annotate("UnmountVolume.TearDown failed for volume \"" + record.volume + "\" ");
}

}  // namespace

CsiVolumes::CsiVolumes(Client client, std::shared_ptr<CsiDrivers> drivers, CsiVolumesOptions options,
                       Executor& executor, EventRecorder recorder)
    : client_(std::move(client)),
      drivers_(std::move(drivers)),
      records_(options.root_dir, options.staging_root, options.node),
      executor_(executor),
      recorder_(std::move(recorder)) {
  for (const CsiRecord& record : records_.Published())
    if (record.attachable) holders_[UniqueNameOf(record)].insert(record.pod_uid);
  for (const CsiRecord& record : records_.Staged())
    if (record.attachable) holders_[UniqueNameOf(record)].insert(kStagedHolder);
}

std::shared_ptr<Mutex> CsiVolumes::MutexOf(const CsiRecord& record) {
  MutexLock lock(mu_);
  std::erase_if(busy_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = busy_[UniqueNameOf(record)];
  auto mutex = known.lock();
  if (!mutex) known = mutex = std::make_shared<Mutex>();
  return mutex;
}

CsiRecord CsiVolumes::RecordOf(const Mounting& mounting) const {
  return {.volume = mounting.volume.name,
          .driver = mounting.volume.driver,
          .handle = mounting.volume.handle,
          .node = records_.node(),
          .ephemeral = mounting.volume.ephemeral,
          .attachable = mounting.attachable,
          .pod_uid = mounting.pod.metadata.uid};
}

// By this agent; or by one before it, as the disk shows.
bool CsiVolumes::IsPublished(const Mounting& mounting) const {
  {
    MutexLock lock(mu_);
    if (published_.contains(mounting.target_path)) return true;
  }
  const auto records = records_.Published(mounting.pod.metadata.uid);
  return IsMountPoint(mounting.target_path) &&
         std::any_of(records.begin(), records.end(),
                     [&](const CsiRecord& record) { return record.volume == mounting.volume.name; });
}

Status CsiVolumes::SetUp(const Pod& pod, const CsiVolume& volume) {
  const SpareThread spare(executor_);
  Mounting mounting{.pod = pod, .volume = volume, .target_path = PathOf(pod.metadata.uid, volume)};
  const auto mutex = MutexOf(RecordOf(mounting));
  MutexLock lock(*mutex);
  auto kind = client_.Get<CSIDriver>("", volume.driver);
  if (!kind && !kind.error().Is(Reason::kNotFound)) return Unexpected(kind.error());
  if (kind) mounting.kind = std::move(*kind);
  mounting.attachable =
      !volume.ephemeral && (!mounting.kind || mounting.kind->spec.attach_required.value_or(true));
  const bool there = IsPublished(mounting);
  const auto driver = drivers_->Find(volume.driver);
  const bool again = there && mounting.kind && mounting.kind->spec.requires_republish.value_or(false);
  // A volume that is there does not need its driver.
  if (there && !again && (volume.ephemeral || !driver)) return {};
  if (mounting.attachable && (!there || again)) FLYBALL_TRY(WaitUntilAttached(mounting));
  const std::string of_volume = " for volume \"" + volume.name + "\" : ";
  if (!driver)
    return Unexpected(InternalError(
        (volume.ephemeral
             ? "MountVolume.SetUp failed" + of_volume +
                   "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: "
             : "MountVolume.MountDevice failed" + of_volume +
                   "kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ") +
        driver.error().message()));
  mounting.driver = *driver;
  FLYBALL_ASSIGN(mounting.abilities, mounting.driver->Abilities());
  if (!volume.ephemeral && mounting.abilities.stage)
    mounting.staging_path = records_.StagingPath(volume.driver, volume.handle);
  if (!there || again) {
    if (const Status staged = Stage(mounting); !staged)
      return Unexpected(
          InternalError("MountVolume.MountDevice failed" + of_volume + staged.error().message()));
    if (const Status published = Publish(mounting, again); !published)
      return Unexpected(InternalError("MountVolume.SetUp failed" + of_volume + published.error().message()));
    MutexLock all(mu_);
    published_.insert(mounting.target_path);
  }
  if (const Status expanded = Expand(mounting); !expanded)
    return Unexpected(InternalError("MountVolume.Setup failed while expanding volume" + of_volume +
                                    expanded.error().message()));
  return {};
}

Status CsiVolumes::Unpublish(const CsiRecord& record) {
  const std::string path = records_.TargetPath(record.pod_uid, record.volume);
  FLYBALL_ASSIGN(const auto driver, drivers_->Find(record.driver));
  FLYBALL_TRY(driver->Unpublish(record.handle, path));
  {
    MutexLock lock(mu_);
    published_.erase(path);
  }
  return records_.Remove(path);
}

Status CsiVolumes::UnstageUnused(const CsiRecord& record) {
  const auto same = [&](const CsiRecord& other) {
    return other.driver == record.driver && other.handle == record.handle;
  };
  const auto staged = records_.Staged(), published = records_.Published();
  const auto found = std::find_if(staged.begin(), staged.end(), same);
  if (found == staged.end() || std::any_of(published.begin(), published.end(), same)) return {};
  const std::string path = records_.StagingPath(record.driver, record.handle);
  FLYBALL_ASSIGN(const auto driver, drivers_->Find(record.driver));
  FLYBALL_TRY(driver->Unstage(record.handle, path));
  {
    MutexLock lock(mu_);
    staged_.erase(path);
  }
  FLYBALL_TRY(records_.Remove(path));
  LetGo(kStagedHolder, UniqueNameOf(record));
  return {};
}

Status CsiVolumes::TearDown(const std::string& pod_uid) {
  const SpareThread spare(executor_);
  Status outcome;
  bool unused = false;
  for (const CsiRecord& record : records_.Published(pod_uid)) {
    const auto mutex = MutexOf(record);
    MutexLock lock(*mutex);
    if (const Status undone = Unpublish(record); !undone) {
      if (outcome) outcome = Unexpected(UnmountError(record, undone.error()));
      continue;
    }
    if (const Status undone = UnstageUnused(record); !undone) {
      log::Warning("volume not unstaged, will try again",
                   {{"volume", record.volume}, {"error", undone.error().message()}});
      unused = true;
    }
    LetGo(pod_uid, UniqueNameOf(record));
  }
  if (outcome) {
    records_.RemovePod(pod_uid);
    LetGo(pod_uid);
  }
  MutexLock lock(mu_);
  if (outcome) released_.erase(pod_uid);
  if (unused) SweepAgainLater();
  return outcome;
}

void CsiVolumes::Release(const std::string& pod_uid) {
  {
    MutexLock lock(mu_);
    released_.insert(pod_uid);
  }
  Sweep();
}

void CsiVolumes::KeepOnly(const std::set<std::string>& pod_uids) {
  {
    MutexLock lock(mu_);
    for (const CsiRecord& record : records_.Published())
      if (!pod_uids.contains(record.pod_uid)) released_.insert(record.pod_uid);
  }
  Sweep();
}

void CsiVolumes::Sweep() {
  std::set<std::string> released;
  {
    MutexLock lock(mu_);
    released = released_;
  }
  const SpareThread spare(executor_);
  Status outcome;
  for (const std::string& pod_uid : released)
    if (const Status undone = TearDown(pod_uid); !undone) outcome = undone;
  for (const CsiRecord& record : records_.Staged()) {
    const auto mutex = MutexOf(record);
    MutexLock lock(*mutex);
    if (const Status undone = UnstageUnused(record); !undone) outcome = undone;
  }
  MutexLock lock(mu_);
  if (outcome) {
    failed_sweeps_ = 0;
    return;
  }
  log::Warning("volumes of pods that are gone are still there, will try again",
               {{"error", outcome.error().message()}});
  SweepAgainLater();
}

void CsiVolumes::SweepAgainLater() {
  if (std::exchange(sweeping_later_, true)) return;
  Duration delay = kFirstSweep;
  for (int i = 0; i < failed_sweeps_ && delay < kLastSweep; ++i) delay *= 2;
  ++failed_sweeps_;
  executor_.PostAfter(std::min(delay, kLastSweep), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      MutexLock lock(self->mu_);
      self->sweeping_later_ = false;
    }
    self->Sweep();
  });
}

std::vector<std::string> CsiVolumes::InUse() const {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (const auto& [name, holders] : holders_) names.push_back(name);
  return names;
}

void CsiVolumes::Hold(const CsiRecord& record, const std::string& holder) {
  {
    MutexLock lock(mu_);
    auto& holders = holders_[UniqueNameOf(record)];
    const bool news = holders.empty();
    holders.insert(holder);
    if (!news) return;
  }
  if (in_use_changed_) in_use_changed_();
}

// Of all volumes if no name is given.
void CsiVolumes::LetGo(const std::string& holder, const std::string& unique_name) {
  bool changed = false;
  {
    MutexLock lock(mu_);
    for (auto it = holders_.begin(); it != holders_.end();) {
      if (unique_name.empty() || it->first == unique_name) it->second.erase(holder);
      const bool free = it->second.empty();
      changed = changed || free;
      it = free ? holders_.erase(it) : std::next(it);
    }
  }
  if (changed && in_use_changed_) in_use_changed_();
}

}  // namespace flyball::node
