#include "node/devices/device_manager.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/observe/log.h"
#include "node/plugins/spare_thread.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kKubeletSocket[] = "/kubelet.sock";
constexpr char kCheckpointFile[] = "/kubelet_internal_checkpoint";
// Upstream: endpointStopGracePeriod.
constexpr Duration kGoneGrace = std::chrono::minutes(5);

// Upstream: IsExtendedResourceName, as far as plugins get it wrong.
bool IsExtendedName(const std::string& resource) {
  return resource.find('/') != std::string::npos && resource.find("kubernetes.io/") == std::string::npos &&
         !resource.starts_with("requests.");
}

Status CheckRegistration(const std::string& resource, const std::vector<std::string>& versions) {
  if (std::find(versions.begin(), versions.end(), kDevicePluginVersion) == versions.end())
    return Unexpected(BadRequest("requested API version \"" + (versions.empty() ? "" : versions.front()) +
                                 "\" is not supported by kubelet. Supported version is [\"" +
                                 kDevicePluginVersion + "\"]"));
  if (!IsExtendedName(resource))
    return Unexpected(BadRequest("the ResourceName \"" + resource + "\" is invalid"));
  return {};
}

void RemoveSockets(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    struct stat info {};
    if (lstat(entry.path().c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) fs::remove(entry.path(), error);
  }
}

std::vector<std::string> Listing(const std::set<std::string>& ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace

Status DeviceManager::Start() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return Unexpected(InternalError(folder_ + ": " + error.message()));
  auto checkpoint = ReadDeviceCheckpoint(folder_ + kCheckpointFile);
  if (!checkpoint) log::Warning("allocated devices are not known", {{"error", checkpoint.error().message()}});
  std::vector<std::string> known;
  {
    MutexLock lock(mu_);
    if (checkpoint) {
      held_ = std::move(checkpoint->held);
      // Nothing of them is there until their plugins register again.
      for (const std::string& resource : checkpoint->resources) resources_[resource];
      known = std::move(checkpoint->resources);
    }
  }
  for (const std::string& resource : known) Ended(resource, nullptr);
  RemoveSockets(folder_);
  FLYBALL_ASSIGN(server_, net::GrpcServer::Start(
                              folder_ + kKubeletSocket,
                              {{kRegisterDevicePluginMethod,
                                [weak = weak_from_this()](std::string_view request) -> Result<std::string> {
                                  const auto self = weak.lock();
                                  if (!self) return Unexpected(InternalError("the node is stopping"));
                                  return self->OnRegister(request);
                                }}},
                              executor_));
  return {};
}

void DeviceManager::Stop() {
  {
    MutexLock lock(mu_);
    if (std::exchange(stopped_, true)) return;
  }
  server_.reset();
  MutexLock lock(mu_);
  for (auto& [name, resource] : resources_) resource.plugin = nullptr;
}

Result<std::string> DeviceManager::OnRegister(std::string_view request) {
  const SpareThread spare(executor_);
  FLYBALL_ASSIGN(const DeviceRegistration plugin, DecodeDeviceRegistration(request));
  FLYBALL_TRY(CheckRegistration(plugin.resource, {plugin.version}));
  FLYBALL_TRY(Connect(plugin.resource, folder_ + "/" + plugin.endpoint));
  return std::string();
}

Status DeviceManager::Validate(const PluginInfo& plugin) {
  return CheckRegistration(plugin.name, plugin.versions);
}

Status DeviceManager::Register(const PluginInfo& plugin) {
  return Connect(plugin.name, plugin.endpoint);
}

void DeviceManager::Deregister(const PluginInfo& plugin) {
  const DevicePlugin* gone = nullptr;
  {
    MutexLock lock(mu_);
    const auto found = resources_.find(plugin.name);
    if (found == resources_.end() || found->second.socket != plugin.endpoint) return;
    gone = found->second.plugin.get();
  }
  Ended(plugin.name, gone);
}

Status DeviceManager::Connect(const std::string& name, const std::string& socket) {
  FLYBALL_ASSIGN(const auto plugin, DevicePlugin::Make(socket));
  const auto options = plugin->Options();
  if (!options) return Unexpected(options.error().Annotate("failed to get device plugin options"));
  std::shared_ptr<DevicePlugin> before;
  {
    MutexLock lock(mu_);
    if (stopped_) return Unexpected(InternalError("the node is stopping"));
    Resource& resource = resources_[name];
    before = std::exchange(resource.plugin, plugin);
    resource.socket = socket;
    resource.options = *options;
    forgotten_.erase(name);
  }
  log::Info("device plugin connected", {{"resource", name}, {"socket", socket}});
  const auto weak = weak_from_this();
  // Not on the I/O thread.
  const auto later = [weak, &executor = executor_](UniqueFunction<void(DeviceManager&)> fn) {
    executor.Post([weak, fn = std::move(fn)]() mutable {
      if (const auto self = weak.lock()) fn(*self);
    });
  };
  plugin->Watch(
      [later, name, known = plugin.get()](std::map<std::string, bool> devices) {
        later([name, known, devices = std::move(devices)](DeviceManager& self) mutable {
          self.Listed(name, known, std::move(devices));
        });
      },
      [later, name, known = plugin.get()] {
        later([name, known](DeviceManager& self) { self.Ended(name, known); });
      });
  return {};
}

void DeviceManager::Changed() {
  if (changed_) changed_();
}

void DeviceManager::Listed(const std::string& name, const DevicePlugin* plugin,
                           std::map<std::string, bool> devices) {
  {
    MutexLock lock(mu_);
    const auto found = resources_.find(name);
    if (found == resources_.end() || found->second.plugin.get() != plugin) return;
    found->second.devices = std::move(devices);
    (void)Save();
  }
  Changed();
}

// The plugin has gone, unless another one has come in its place.
void DeviceManager::Ended(const std::string& name, const DevicePlugin* plugin) {
  std::shared_ptr<DevicePlugin> gone;  // its stream ends outside the lock
  {
    MutexLock lock(mu_);
    const auto found = resources_.find(name);
    if (stopped_ || found == resources_.end() || found->second.plugin.get() != plugin) return;
    gone = std::move(found->second.plugin);
    found->second.plugin = nullptr;
    for (auto& [id, healthy] : found->second.devices) healthy = false;
  }
  executor_.PostAfter(kGoneGrace, [weak = weak_from_this(), name] {
    if (const auto self = weak.lock()) self->Forget(name);
  });
  Changed();
}

void DeviceManager::Forget(const std::string& name) {
  {
    MutexLock lock(mu_);
    const auto found = resources_.find(name);
    if (stopped_ || found == resources_.end() || found->second.plugin) return;
    resources_.erase(found);
    forgotten_.insert(name);
    (void)Save();
  }
  Changed();
}

std::map<std::string, std::optional<DeviceCapacity>> DeviceManager::Capacity() const {
  std::map<std::string, std::optional<DeviceCapacity>> all;
  MutexLock lock(mu_);
  for (const std::string& name : forgotten_) all[name] = std::nullopt;
  for (const auto& [name, resource] : resources_) {
    const auto healthy = std::count_if(resource.devices.begin(), resource.devices.end(),
                                       [](const auto& device) { return device.second; });
    all[name] = DeviceCapacity{static_cast<std::int64_t>(resource.devices.size()), healthy};
  }
  return all;
}

// Of a plugin, or of one that was there when a container got its devices.
bool DeviceManager::IsDevice(const std::string& name) const {
  return resources_.contains(name) || std::any_of(held_.begin(), held_.end(), [&](const HeldDevices& held) {
           return held.resource == name;
         });
}

bool DeviceManager::Concerns(const Pod& pod) const {
  MutexLock lock(mu_);
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
    for (const Container& container : *list)
      for (const auto& [resource, amount] : container.resources.limits)
        if (IsDevice(resource)) return true;
  return false;
}

std::set<std::string> DeviceManager::DevicesOf(const std::string& pod_uid, const std::string& container,
                                               const std::string& resource) const {
  std::set<std::string> devices;
  for (const HeldDevices& held : held_)
    if (held.pod_uid == pod_uid && held.container == container && held.resource == resource)
      devices.insert(held.devices.begin(), held.devices.end());
  return devices;
}

// What init containers had is for those that start after their end.
Status DeviceManager::Allocate(const Pod& pod) {
  const SpareThread spare(executor_);
  MutexLock one(allocating_);
  Reusable reusable;
  const auto change = [&](const Container& container, bool free) {
    MutexLock lock(mu_);
    for (const HeldDevices& held : held_) {
      if (held.pod_uid != pod.metadata.uid || held.container != container.name) continue;
      for (const std::string& id : held.devices)
        if (free)
          reusable[held.resource].insert(id);
        else
          reusable[held.resource].erase(id);
    }
  };
  for (const Container& container : pod.spec.init_containers) {
    FLYBALL_TRY(AllocateContainer(pod, container, reusable));
    change(container, container.restart_policy != "Always");
  }
  for (const Container& container : pod.spec.containers) {
    FLYBALL_TRY(AllocateContainer(pod, container, reusable));
    change(container, false);
  }
  return {};
}

Status DeviceManager::AllocateContainer(const Pod& pod, const Container& container,
                                        const Reusable& reusable) {
  for (const auto& [resource, amount] : container.resources.limits) {
    {
      MutexLock lock(mu_);
      if (!IsDevice(resource)) continue;
    }
    const auto free = reusable.find(resource);
    FLYBALL_TRY(AllocateResource(pod, container, resource, static_cast<std::size_t>(amount.Value()),
                                 free == reusable.end() ? std::set<std::string>() : free->second));
  }
  return {};
}

Status DeviceManager::AllocateResource(const Pod& pod, const Container& container,
                                       const std::string& resource, std::size_t wanted,
                                       const std::set<std::string>& reusable) {
  FLYBALL_ASSIGN(const auto devices, Choose(pod.metadata.uid, container.name, resource, wanted, reusable));
  if (devices.empty()) return {};
  std::shared_ptr<DevicePlugin> plugin;
  {
    MutexLock lock(mu_);
    plugin = resources_[resource].plugin;
  }
  if (!plugin) return Unexpected(InternalError("unknown Device Plugin " + resource));
  FLYBALL_ASSIGN(std::string allocation, plugin->Allocate(devices));
  FLYBALL_ASSIGN(const DeviceAllocation what, DecodeDeviceAllocation(allocation));
  if (!what.cdi_devices.empty())
    return Unexpected(
        BadRequest("the CDI device \"" + what.cdi_devices.front() + "\", which this node does not support"));
  MutexLock lock(mu_);
  held_.push_back({pod.metadata.uid, container.name, resource, devices, std::move(allocation)});
  return Save();
}

// Which devices the container gets; none if it has them. Upstream: devicesToAllocate, with its words.
Result<std::vector<std::string>> DeviceManager::Choose(const std::string& pod_uid,
                                                       const std::string& container,
                                                       const std::string& resource, std::size_t wanted,
                                                       const std::set<std::string>& reusable) {
  std::set<std::string> free, chosen;
  std::shared_ptr<DevicePlugin> asked;
  {
    MutexLock lock(mu_);
    const std::set<std::string> has = DevicesOf(pod_uid, container, resource);
    if (!has.empty() && has.size() != wanted)
      return Unexpected(InternalError("pod \"" + pod_uid + "\" container \"" + container +
                                      "\" changed request for resource \"" + resource + "\" from " +
                                      std::to_string(has.size()) + " to " + std::to_string(wanted)));
    const auto found = resources_.find(resource);
    if (found == resources_.end())
      return Unexpected(InternalError("cannot allocate unregistered device " + resource));
    for (const auto& [id, healthy] : found->second.devices)
      if (healthy) free.insert(id);
    if (free.empty())
      return Unexpected(
          InternalError("no healthy devices present; cannot allocate unhealthy devices " + resource));
    if (!std::includes(free.begin(), free.end(), has.begin(), has.end()))
      return Unexpected(InternalError(
          "previously allocated devices are no longer healthy; cannot allocate unhealthy devices " +
          resource));
    if (!has.empty() || wanted == 0) return std::vector<std::string>();
    for (const std::string& id : reusable)
      if (chosen.size() < wanted) chosen.insert(id);
    for (const HeldDevices& held : held_)
      if (held.resource == resource)
        for (const std::string& id : held.devices) free.erase(id);
    if (chosen.size() + free.size() < wanted)
      return Unexpected(InternalError("requested number of devices unavailable for " + resource +
                                      ". Requested: " + std::to_string(wanted - chosen.size()) +
                                      ", Available: " + std::to_string(free.size())));
    if (found->second.options.preferred_allocation) asked = found->second.plugin;
  }
  if (asked && chosen.size() < wanted) {
    std::set<std::string> all = free;
    all.insert(chosen.begin(), chosen.end());
    const auto preferred = asked->Preferred(Listing(all), Listing(chosen), static_cast<std::int64_t>(wanted));
    if (!preferred)
      return Unexpected(
          preferred.error().Annotate("device plugin GetPreferredAllocation rpc failed with err"));
    for (const std::string& id : *preferred)
      if (chosen.size() < wanted && free.erase(id) > 0) chosen.insert(id);
  }
  for (const std::string& id : free)
    if (chosen.size() < wanted) chosen.insert(id);
  return Listing(chosen);
}

Result<DeviceAllocation> DeviceManager::Prepare(const Pod& pod, const Container& container) {
  const SpareThread spare(executor_);
  DeviceAllocation all;
  std::vector<HeldDevices> held;
  std::map<std::string, std::shared_ptr<DevicePlugin>> starting;
  {
    MutexLock lock(mu_);
    for (const HeldDevices& entry : held_) {
      if (entry.pod_uid != pod.metadata.uid || entry.container != container.name) continue;
      held.push_back(entry);
      const auto found = resources_.find(entry.resource);
      if (found != resources_.end() && found->second.options.pre_start_required)
        starting[entry.resource] = found->second.plugin;
    }
  }
  for (const HeldDevices& entry : held) {
    const auto plugin = starting.find(entry.resource);
    if (plugin != starting.end()) {
      const Status told =
          plugin->second
              ? plugin->second->PreStart(entry.devices)
              : Status(Unexpected(InternalError("endpoint " + entry.resource + " has been stopped")));
      if (!told)
        return Unexpected(told.error().Annotate("device plugin PreStartContainer rpc failed with err"));
    }
    FLYBALL_ASSIGN(DeviceAllocation one, DecodeDeviceAllocation(entry.allocation));
    // As upstream: the first plugin that says something has said it.
    all.environment.merge(one.environment);
    all.annotations.merge(one.annotations);
    all.mounts.insert(all.mounts.end(), one.mounts.begin(), one.mounts.end());
    all.devices.insert(all.devices.end(), one.devices.begin(), one.devices.end());
  }
  return all;
}

void DeviceManager::Release(const std::string& pod_uid) {
  MutexLock lock(mu_);
  const auto had = std::erase_if(held_, [&](const HeldDevices& held) { return held.pod_uid == pod_uid; });
  if (had > 0) (void)Save();
}

void DeviceManager::KeepOnly(const std::set<std::string>& pod_uids) {
  MutexLock lock(mu_);
  const auto had =
      std::erase_if(held_, [&](const HeldDevices& held) { return !pod_uids.contains(held.pod_uid); });
  if (had > 0) (void)Save();
}

Status DeviceManager::Save() {
  DeviceCheckpoint checkpoint{.held = held_, .resources = {}};
  for (const auto& [name, resource] : resources_) checkpoint.resources.push_back(name);
  const Status saved = WriteDeviceCheckpoint(folder_ + kCheckpointFile, checkpoint);
  if (!saved) log::Warning("allocated devices not saved", {{"error", saved.error().message()}});
  return saved;
}

}  // namespace flyball::node
