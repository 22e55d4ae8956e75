#include "node/csi/csi_drivers.h"

#include <charconv>

#include "base/observe/log.h"

namespace flyball::node {
namespace {

// "v1.2.3-rc" -> {1, 2, 3}; empty if it does not begin as a version (upstream: ParseGeneric).
std::vector<int> VersionNumbers(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<int> numbers;
  for (;;) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return {};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) return numbers;
    text.remove_prefix(1);
  }
}

std::string VersionText(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ".") + std::to_string(number);
  return text;
}

// As Go's %q shows a list.
std::string QuotedList(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "\"" : " \"") + text + "\"";
  return "[" + out + "]";
}

// The highest of the versions 1.x; empty if there is none. Drivers of version 0 are no longer supported.
std::vector<int> HighestVersion(const std::vector<std::string>& versions) {
  std::vector<int> highest;
  for (const std::string& text : versions)
    if (const auto version = VersionNumbers(text); !version.empty() && version[0] == 1)
      highest = std::max(highest, version);
  return highest;
}

}  // namespace

Result<std::vector<int>> CsiDrivers::CheckVersions(const PluginInfo& plugin,
                                                   const std::string& caller) const {
  const std::string failed =
      "kubernetes.io/csi: " + caller + " for CSI driver \"" + plugin.name + "\" failed. ";
  if (plugin.versions.empty())
    return Unexpected(BadRequest(failed + "Plugin returned an empty list for supported versions"));
  const std::vector<int> highest = HighestVersion(plugin.versions);
  if (highest.empty())
    return Unexpected(BadRequest(failed + "None of the versions specified " + QuotedList(plugin.versions) +
                                 " are supported"));
  MutexLock lock(mu_);
  const auto known = drivers_.find(plugin.name);
  if (known != drivers_.end() && known->second.version >= highest)
    return Unexpected(BadRequest(
        failed +
        "Another driver with the same name is already registered with a higher supported version: \"" +
        VersionText(known->second.version) + "\""));
  return highest;
}

Status CsiDrivers::Validate(const PluginInfo& plugin) {
  const auto version = CheckVersions(plugin, "ValidatePlugin");
  if (version) return {};
  return Unexpected(version.error().Annotate("validation failed for CSI Driver " + plugin.name +
                                             " at endpoint " + plugin.endpoint));
}

Status CsiDrivers::Register(const PluginInfo& plugin) {
  FLYBALL_ASSIGN(auto version, CheckVersions(plugin, "RegisterPlugin"));
  FLYBALL_ASSIGN(const auto driver, CsiDriver::Make(plugin.endpoint));
  FLYBALL_ASSIGN(const CsiNodeInfo info, driver->NodeInfo());
  FLYBALL_TRY(node_->Install(plugin.name, info));
  {
    MutexLock lock(mu_);
    drivers_[plugin.name] = {std::move(version), driver};
  }
  if (registered_) registered_();
  return {};
}

void CsiDrivers::Deregister(const PluginInfo& plugin) {
  {
    MutexLock lock(mu_);
    drivers_.erase(plugin.name);
  }
  if (const Status gone = node_->Uninstall(plugin.name); !gone)
    log::Warning("CSI driver not removed from the node's objects",
                 {{"driver", plugin.name}, {"error", gone.error().message()}});
}

Result<std::shared_ptr<CsiDriver>> CsiDrivers::Find(const std::string& name) const {
  MutexLock lock(mu_);
  const auto found = drivers_.find(name);
  if (found != drivers_.end()) return found->second.driver;
  return Unexpected(
      Error(Reason::kNotFound, "driver name " + name + " not found in the list of registered CSI drivers"));
}

}  // namespace flyball::node
