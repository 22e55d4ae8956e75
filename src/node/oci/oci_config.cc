#include "node/oci/oci_config.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "node/cgroups/cgroup_tree.h"
#include "node/oci/seccomp_profile.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kContainerPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// What container runtimes give by default.
const std::vector<std::string>& DefaultCapabilities() {
  static const std::vector<std::string> names = {
      "CHOWN",  "DAC_OVERRIDE", "FSETID",  "FOWNER",           "MKNOD",      "NET_RAW", "SETGID",
      "SETUID", "SETFCAP",      "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL",    "AUDIT_WRITE"};
  return names;
}

// By their numbers.
const std::vector<std::string>& AllCapabilities() {
  static const std::vector<std::string> names = {"CHOWN",
                                                 "DAC_OVERRIDE",
                                                 "DAC_READ_SEARCH",
                                                 "FOWNER",
                                                 "FSETID",
                                                 "KILL",
                                                 "SETGID",
                                                 "SETUID",
                                                 "SETPCAP",
                                                 "LINUX_IMMUTABLE",
                                                 "NET_BIND_SERVICE",
                                                 "NET_BROADCAST",
                                                 "NET_ADMIN",
                                                 "NET_RAW",
                                                 "IPC_LOCK",
                                                 "IPC_OWNER",
                                                 "SYS_MODULE",
                                                 "SYS_RAWIO",
                                                 "SYS_CHROOT",
                                                 "SYS_PTRACE",
                                                 "SYS_PACCT",
                                                 "SYS_ADMIN",
                                                 "SYS_BOOT",
                                                 "SYS_NICE",
                                                 "SYS_RESOURCE",
                                                 "SYS_TIME",
                                                 "SYS_TTY_CONFIG",
                                                 "MKNOD",
                                                 "LEASE",
                                                 "AUDIT_WRITE",
                                                 "AUDIT_CONTROL",
                                                 "SETFCAP",
                                                 "MAC_OVERRIDE",
                                                 "MAC_ADMIN",
                                                 "SYSLOG",
                                                 "WAKE_ALARM",
                                                 "BLOCK_SUSPEND",
                                                 "AUDIT_READ",
                                                 "PERFMON",
                                                 "BPF",
                                                 "CHECKPOINT_RESTORE"};
  return names;
}

// What the kernel lets any process here have: nobody can give more.
std::uint64_t BoundingSet() {
  static const std::uint64_t set = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("CapBnd:")) return std::stoull(line.substr(7), nullptr, 16);
    return ~0ull;
  }();
  return set;
}

// All that a container can be given (upstream: containerd's WithAllCurrentCapabilities).
std::vector<std::string> GivableCapabilities() {
  std::vector<std::string> names;
  for (std::size_t number = 0; number < AllCapabilities().size(); ++number)
    if (((BoundingSet() >> number) & 1) != 0) names.push_back(AllCapabilities()[number]);
  return names;
}

bool IsPrivileged(const Container& spec) {
  return spec.security_context && spec.security_context->privileged.value_or(false);
}

json::Array Words(const std::vector<std::string>& words) {
  return json::Array(words.begin(), words.end());
}

std::string CapabilityName(std::string name) {
  return name.starts_with("CAP_") ? name.substr(4) : name;
}

Result<json::Array> CapabilitiesOf(const Container& spec) {
  std::vector<std::string> names = IsPrivileged(spec) ? GivableCapabilities() : DefaultCapabilities();
  if (spec.security_context && spec.security_context->capabilities && !IsPrivileged(spec)) {
    const Capabilities& change = *spec.security_context->capabilities;
    const auto lists = [](const std::vector<std::string>& list, const std::string& wanted) {
      return std::any_of(list.begin(), list.end(),
                         [&](const std::string& name) { return CapabilityName(name) == wanted; });
    };
    if (lists(change.add, "ALL")) names = GivableCapabilities();
    if (lists(change.drop, "ALL")) names.clear();
    for (const std::string& word : change.add) {
      const std::string name = CapabilityName(word);
      if (name == "ALL") continue;
      if (!lists(AllCapabilities(), name))
        return Unexpected(BadRequest("unknown capability \"" + word + "\""));
      if (!lists(names, name)) names.push_back(name);
    }
    std::erase_if(names, [&](const std::string& name) { return lists(change.drop, name); });
  }
  json::Array listed;
  for (const std::string& name : names) listed.push_back("CAP_" + name);
  return listed;
}

json::Value Mount(const char* target, const char* type, const char* source,
                  std::vector<std::string> options) {
  return json::Object{
      {"destination", target}, {"type", type}, {"source", source}, {"options", Words(options)}};
}

json::Value BindMount(const ContainerMount& mount) {
  std::vector<std::string> options = {"rbind", mount.recursive_read_only ? "rro"
                                               : mount.read_only         ? "ro"
                                                                         : "rw"};
  if (mount.propagation == "Bidirectional")
    options.push_back("rshared");
  else if (mount.propagation == "HostToContainer")
    options.push_back("rslave");
  else
    options.push_back("rprivate");
  return json::Object{
      {"destination", mount.target}, {"type", "bind"}, {"source", mount.source}, {"options", Words(options)}};
}

json::Array MountsOf(const OciConfigInput& input) {
  const bool privileged = IsPrivileged(*input.container.spec);
  const char* rw = privileged ? "rw" : "ro";
  json::Array mounts = {
      Mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      Mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      Mount("/dev/pts", "devpts", "devpts",
            {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}),
      Mount("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}),
      Mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
      Mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", rw}),
      Mount("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", rw})};
  std::vector<ContainerMount> binds = input.mounts;
  // What lies below another is mounted after it.
  std::stable_sort(binds.begin(), binds.end(), [](const ContainerMount& a, const ContainerMount& b) {
    return std::count(a.target.begin(), a.target.end(), '/') <
           std::count(b.target.begin(), b.target.end(), '/');
  });
  for (const ContainerMount& mount : binds) mounts.push_back(BindMount(mount));
  return mounts;
}

std::optional<std::int64_t> Amount(const std::map<std::string, api::Quantity>& list, const char* name,
                                   bool milli) {
  const auto found = list.find(name);
  if (found == list.end()) return std::nullopt;
  return milli ? found->second.MilliValue() : found->second.Value();
}

std::string QosOf(const Pod& pod) {
  bool any = false, guaranteed = true;
  const auto look = [&](const Container& container) {
    for (const char* name : {"cpu", "memory"}) {
      const auto limit = Amount(container.resources.limits, name, true);
      const auto request = Amount(container.resources.requests, name, true);
      any = any || limit.value_or(0) > 0 || request.value_or(0) > 0;
      guaranteed = guaranteed && limit && (!request || *request == *limit);
    }
  };
  for (const Container& container : pod.spec.init_containers) look(container);
  for (const Container& container : pod.spec.containers) look(container);
  if (!any) return "besteffort";
  return guaranteed ? "guaranteed" : "burstable";
}

// Some machines let nobody have a lower score than his own (CAP_SYS_RESOURCE).
bool MayLowerOomScore() {
  static const bool may = [] {
    constexpr int kSysResource = 24;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("CapEff:"))
        return ((std::stoull(line.substr(7), nullptr, 16) >> kSysResource) & 1) != 0;
    return false;
  }();
  return may;
}

// Upstream: GetContainerOOMScoreAdjust, without the part of requested memory.
int OomScore(const Pod& pod) {
  const std::string qos = QosOf(pod);
  if (qos == "guaranteed") return MayLowerOomScore() ? -997 : 0;
  return qos == "besteffort" ? 1000 : 999;
}

json::Array NamespacesOf(const OciConfigInput& input) {
  const PodSpec& pod = input.container.pod->spec;
  const std::string monitor = "/proc/" + std::to_string(input.monitor) + "/ns/";
  json::Array namespaces = {json::Object{{"type", "mount"}}};
  json::Object pids{{"type", "pid"}};
  if (input.pause > 0) pids.Set("path", "/proc/" + std::to_string(input.pause) + "/ns/pid");
  if (!pod.host_pid) namespaces.push_back(std::move(pids));
  if (!pod.host_ipc) namespaces.push_back(json::Object{{"type", "ipc"}, {"path", monitor + "ipc"}});
  if (const std::string& network = input.container.network_namespace; !network.empty())
    namespaces.push_back(json::Object{{"type", "network"}, {"path", network}});
  if (!pod.host_network) namespaces.push_back(json::Object{{"type", "uts"}, {"path", monitor + "uts"}});
  return namespaces;
}

// All of the machine's, for privileged containers.
json::Array HostDevices() {
  json::Array devices;
  std::error_code error;
  for (const auto& entry :
       fs::recursive_directory_iterator("/dev", fs::directory_options::skip_permission_denied, error)) {
    const std::string path = entry.path().string();
    struct stat info {};
    if (path.starts_with("/dev/pts") || path.starts_with("/dev/shm") || path.starts_with("/dev/mqueue") ||
        path == "/dev/console" || lstat(path.c_str(), &info) != 0)
      continue;
    if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) continue;
    devices.push_back(json::Object{{"path", path},
                                   {"type", S_ISCHR(info.st_mode) ? "c" : "b"},
                                   {"major", static_cast<std::int64_t>(major(info.st_rdev))},
                                   {"minor", static_cast<std::int64_t>(minor(info.st_rdev))},
                                   {"fileMode", static_cast<std::int64_t>(info.st_mode & 07777)},
                                   {"uid", static_cast<std::int64_t>(info.st_uid)},
                                   {"gid", static_cast<std::int64_t>(info.st_gid)}});
  }
  return devices;
}

// What the container may use besides the usual ones: to be made in it, and allowed.
Status AddDevices(const std::vector<ContainerDevice>& wanted, json::Array& made, json::Array& allowed) {
  for (const ContainerDevice& device : wanted) {
    struct stat info {};
    if (stat(device.source.c_str(), &info) != 0 || !(S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)))
      return Unexpected(BadRequest("error gathering device information while adding custom device \"" +
                                   device.source + "\": not a device node"));
    const char* const type = S_ISCHR(info.st_mode) ? "c" : "b";
    const auto major_number = static_cast<std::int64_t>(major(info.st_rdev));
    const auto minor_number = static_cast<std::int64_t>(minor(info.st_rdev));
    made.push_back(json::Object{{"path", device.target},
                                {"type", type},
                                {"major", major_number},
                                {"minor", minor_number},
                                {"fileMode", static_cast<std::int64_t>(info.st_mode & 07777)},
                                {"uid", static_cast<std::int64_t>(info.st_uid)},
                                {"gid", static_cast<std::int64_t>(info.st_gid)}});
    allowed.push_back(json::Object{{"allow", true},
                                   {"type", type},
                                   {"major", major_number},
                                   {"minor", minor_number},
                                   {"access", device.access}});
  }
  return {};
}

Result<json::Value> SeccompOf(const OciConfigInput& input) {
  const auto& own = input.container.spec->security_context;
  const auto& pod = input.container.pod->spec.security_context;
  const SeccompProfile* profile = nullptr;
  if (own && own->seccomp_profile)
    profile = &*own->seccomp_profile;
  else if (pod && pod->seccomp_profile)
    profile = &*pod->seccomp_profile;
  if (!profile || profile->type == "Unconfined" || IsPrivileged(*input.container.spec)) return json::Value();
  if (profile->type == "RuntimeDefault") return DefaultSeccompProfile();
  if (profile->type == "Localhost")
    return ReadSeccompProfile(input.seccomp_folder + "/" + profile->localhost_profile.value_or(""));
  return Unexpected(
      BadRequest("seccomp profiles of type " + profile->type + " are not supported by this node"));
}

// The profile that confines the container; empty: none.
Result<std::string> AppArmorOf(const OciConfigInput& input) {
  const auto& own = input.container.spec->security_context;
  const auto& pod = input.container.pod->spec.security_context;
  const AppArmorProfile* profile = nullptr;
  if (own && own->app_armor_profile)
    profile = &*own->app_armor_profile;
  else if (pod && pod->app_armor_profile)
    profile = &*pod->app_armor_profile;
  if (!profile || profile->type == "Unconfined" || IsPrivileged(*input.container.spec)) return std::string();
  if (profile->type == "Localhost") return profile->localhost_profile.value_or("");
  // What container engines load; this one loads none.
  std::ifstream loaded("/sys/kernel/security/apparmor/profiles");
  for (std::string line; std::getline(loaded, line);)
    for (const char* name : {"cri-containerd.apparmor.d", "docker-default"})
      if (line.starts_with(std::string(name) + " ")) return std::string(name);
  return Unexpected(
      BadRequest("no default AppArmor profile is loaded on this node: name one of type Localhost"));
}

Result<json::Object> LinuxOf(const OciConfigInput& input) {
  const Container& spec = *input.container.spec;
  const bool privileged = IsPrivileged(spec);
  json::Object resources = CgroupResources(spec);
  json::Object linux_part{{"namespaces", NamespacesOf(input)}, {"cgroupsPath", input.cgroup_path}};
  if (privileged) {
    resources.Set("devices", json::Array{json::Object{{"allow", true}, {"access", "rwm"}}});
    linux_part.Set("devices", HostDevices());
  } else {
    json::Array allowed{json::Object{{"allow", false}, {"access", "rwm"}}}, made;
    FLYBALL_TRY(AddDevices(input.container.devices, made, allowed));
    resources.Set("devices", std::move(allowed));
    if (!made.empty()) linux_part.Set("devices", std::move(made));
  }
  linux_part.Set("resources", std::move(resources));
  const bool unmasked = spec.security_context && spec.security_context->proc_mount.value_or("") == "Unmasked";
  if (!privileged && !unmasked) {
    linux_part.Set("maskedPaths",
                   Words({"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
                          "/sys/firmware", "/sys/devices/virtual/powercap"}));
    linux_part.Set("readonlyPaths",
                   Words({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}));
  }
  if (const auto& pod = input.container.pod->spec.security_context; pod && !pod->sysctls.empty()) {
    json::Object sysctls;
    for (const Sysctl& sysctl : pod->sysctls) sysctls.Set(sysctl.name, sysctl.value);
    linux_part.Set("sysctl", std::move(sysctls));
  }
  FLYBALL_ASSIGN(json::Value seccomp, SeccompOf(input));
  if (!seccomp.is_null()) linux_part.Set("seccomp", std::move(seccomp));
  return linux_part;
}

Result<json::Object> ProcessOf(const OciConfigInput& input) {
  const ContainerConfig& container = input.container;
  FLYBALL_ASSIGN(const auto command, CommandOf(container, input.image));
  FLYBALL_ASSIGN(const json::Array capabilities, CapabilitiesOf(*container.spec));
  json::Array groups;
  for (const std::int64_t group : input.user.groups) groups.push_back(group);
  std::string directory = container.working_dir.empty() ? input.image.working_dir : container.working_dir;
  const auto& context = container.spec->security_context;
  FLYBALL_ASSIGN(const std::string confined, AppArmorOf(input));
  const bool may_escalate = !context || context->allow_privilege_escalation.value_or(true);
  json::Object process{
      {"terminal", container.tty},
      {"user",
       json::Object{{"uid", input.user.uid}, {"gid", input.user.gid}, {"additionalGids", std::move(groups)}}},
      {"args", Words(command)},
      {"env", Words(EnvironmentOf(container, input.image))},
      {"cwd", directory.empty() ? "/" : directory},
      {"capabilities",
       json::Object{{"bounding", capabilities}, {"effective", capabilities}, {"permitted", capabilities}}},
      {"noNewPrivileges", !may_escalate},
      {"oomScoreAdj", OomScore(*container.pod)}};
  if (!confined.empty()) process.Set("apparmorProfile", confined);
  return process;
}

}  // namespace

Result<std::vector<std::string>> CommandOf(const ContainerConfig& container, const ImageConfig& image) {
  std::vector<std::string> command = container.command.empty() ? image.entrypoint : container.command;
  // A command of the spec replaces the image's arguments too.
  std::vector<std::string> arguments = container.args;
  if (container.command.empty() && container.args.empty()) arguments = image.cmd;
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (command.empty()) return Unexpected(BadRequest("no command specified"));
  return command;
}

std::vector<std::string> EnvironmentOf(const ContainerConfig& container, const ImageConfig& image) {
  std::vector<std::string> env = image.env;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(env, [&](const std::string& known) { return known.starts_with(name + "="); });
    env.push_back(name + "=" + value);
  };
  if (std::none_of(env.begin(), env.end(),
                   [](const std::string& known) { return known.starts_with("PATH="); }))
    set("PATH", kContainerPath);
  if (container.tty) set("TERM", "xterm");
  set("HOSTNAME", container.pod_name);
  for (const auto& [name, value] : container.env) set(name, value);
  return env;
}

Result<json::Value> MakeOciConfig(const OciConfigInput& input) {
  FLYBALL_ASSIGN(json::Object process, ProcessOf(input));
  FLYBALL_ASSIGN(json::Object linux_part, LinuxOf(input));
  const auto& context = input.container.spec->security_context;
  const bool read_only = context && context->read_only_root_filesystem.value_or(false);
  json::Object config{{"ociVersion", "1.0.2"},
                      {"process", std::move(process)},
                      {"root", json::Object{{"path", "rootfs"}, {"readonly", read_only}}},
                      {"mounts", MountsOf(input)},
                      {"linux", std::move(linux_part)}};
  if (const auto& said = input.container.runtime_annotations; !said.empty()) {
    json::Object annotations;
    for (const auto& [key, value] : said) annotations.Set(key, value);
    config.Set("annotations", std::move(annotations));
  }
  return json::Value(std::move(config));
}

// Upstream: MilliCPUToShares, MilliCPUToQuota and the kubelet's period of 100 ms.
json::Object CgroupResources(const Container& spec) {
  constexpr std::int64_t kPeriod = 100'000, kMinQuota = 1000;
  const auto limit = Amount(spec.resources.limits, "cpu", true);
  const auto request = Amount(spec.resources.requests, "cpu", true);
  const std::int64_t milli = request ? *request : limit.value_or(0);
  json::Object cpu{{"shares", CpuShares(milli)}};
  if (limit && *limit > 0) {
    cpu.Set("quota", std::max(*limit * kPeriod / 1000, kMinQuota));
    cpu.Set("period", kPeriod);
  }
  json::Object resources{{"cpu", std::move(cpu)}};
  if (const auto memory = Amount(spec.resources.limits, "memory", false); memory && *memory > 0)
    resources.Set("memory", json::Object{{"limit", *memory}, {"swap", *memory}});
  json::Array hugepages;
  for (const auto& [name, quantity] : spec.resources.limits)
    if (const std::string size = HugepageSize(name); !size.empty())
      hugepages.push_back(json::Object{{"pageSize", size}, {"limit", quantity.Value()}});
  if (!hugepages.empty()) resources.Set("hugepageLimits", std::move(hugepages));
  return resources;
}

std::string PodsCgroup(const std::string& cgroup_root) {
  return cgroup_root + "/kubepods";
}

std::string PodCgroup(const std::string& pods_cgroup, const Pod& pod) {
  const std::string qos = QosOf(pod);
  return pods_cgroup + "/" + (qos == "guaranteed" ? "" : qos + "/") + "pod" + pod.metadata.uid;
}

}  // namespace flyball::node
