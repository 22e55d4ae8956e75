#include <array>

#include "api/pod_security/policy_checks.h"
#include "api/values/go_text.h"

namespace flyball::api::pod_security {

std::vector<const json::Value*> Pod::Containers() const {
  std::vector<const json::Value*> all;
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    if (const auto& containers = spec[list]; containers.is_array())
      for (const auto& container : containers.as_array()) all.push_back(&container);
  return all;
}

std::string JoinText(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts) (text += text.empty() ? std::string_view{} : between) += part;
  return text;
}

std::string JoinQuoted(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) (text += text.empty() ? "\"" : ", \"") += name + "\"";
  return text;
}

std::string JoinQuoted(const std::set<std::string>& names) {
  return JoinQuoted(std::vector<std::string>(names.begin(), names.end()));
}

std::string NamedContainers(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "container " : "containers ") + JoinQuoted(names);
}

std::string ContainerName(const json::Value& container) {
  return std::string(container["name"].string_or(""));
}

std::string BadSetters::ToString() const {
  std::vector<std::string> parts;
  if (pod) parts.emplace_back("pod");
  if (!containers.empty()) parts.push_back(NamedContainers(containers));
  return JoinText(parts, " and ");
}

BadSetters FindBadSetters(const Pod& pod,
                          const std::function<std::optional<std::string>(const json::Value&)>& is_bad) {
  BadSetters setters;
  if (auto value = is_bad(pod.Security())) {
    setters.pod = true;
    setters.values.insert(std::move(*value));
  }
  for (const auto* container : pod.Containers()) {
    auto value = is_bad((*container)["securityContext"]);
    if (!value) continue;
    setters.containers.push_back(ContainerName(*container));
    setters.values.insert(std::move(*value));
  }
  return setters;
}

namespace {

std::string Plural(std::string_view one, std::string_view many, std::size_t n) {
  return std::string(n == 1 ? one : many);
}

CheckResult AppArmorProfile(const Pod& pod) {
  constexpr std::string_view kPrefix = "container.apparmor.security.beta.kubernetes.io/";
  auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    const auto* profile = security.Find("appArmorProfile");
    if (!profile || !profile->is_object()) return std::nullopt;
    const auto type = (*profile)["type"].string_or("");
    if (type == "RuntimeDefault" || type == "Localhost") return std::nullopt;
    return std::string(type);
  });
  std::set<std::string> annotations;
  if (const auto& all = pod.metadata["annotations"]; all.is_object())
    for (const auto& [key, value] : all.as_object()) {
      const auto profile = value.string_or("");
      const bool allowed =
          profile.empty() || profile == "runtime/default" || profile.starts_with("localhost/");
      if (key.starts_with(kPrefix) && !allowed) annotations.insert(std::string(key) + "=" + GoQuote(profile));
    }
  std::vector<std::string> who, values(setters.values.begin(), setters.values.end());
  if (setters.any()) who.push_back(setters.ToString());
  if (!annotations.empty()) who.push_back(Plural("annotation", "annotations", annotations.size()));
  if (who.empty()) return std::nullopt;
  values.insert(values.end(), annotations.begin(), annotations.end());
  return Violation{Plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.size()),
                   JoinText(who, " and ") + " must not set AppArmor profile type to " + JoinQuoted(values)};
}

CheckResult BaselineCapabilities(const Pod& pod) {
  static const std::set<std::string, std::less<>> kDefault = {
      "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
      "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};
  std::vector<std::string> bad;
  std::set<std::string> added;
  for (const auto* container : pod.Containers()) {
    const auto& list = (*container)["securityContext"]["capabilities"]["add"];
    if (!list.is_array()) continue;
    bool guilty = false;
    for (const auto& capability : list.as_array()) {
      if (kDefault.contains(capability.string_or(""))) continue;
      guilty = true;
      added.emplace(capability.string_or(""));
    }
    if (guilty) bad.push_back(ContainerName(*container));
  }
  if (bad.empty()) return std::nullopt;
  return Violation{"non-default capabilities", NamedContainers(bad) + " must not include " +
                                                   JoinQuoted(added) +
                                                   " in securityContext.capabilities.add"};
}

CheckResult HostNamespaces(const Pod& pod) {
  std::vector<std::string> shared;
  for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"})
    if (pod.spec[field].bool_or(false)) shared.push_back(std::string(field) + "=true");
  if (shared.empty()) return std::nullopt;
  return Violation{"host namespaces", JoinText(shared, ", ")};
}

CheckResult HostPathVolumes(const Pod& pod) {
  std::vector<std::string> names;
  if (const auto& volumes = pod.spec["volumes"]; volumes.is_array())
    for (const auto& volume : volumes.as_array())
      if (volume["hostPath"].is_object()) names.emplace_back(volume["name"].string_or(""));
  if (names.empty()) return std::nullopt;
  return Violation{"hostPath volumes", Plural("volume ", "volumes ", names.size()) + JoinQuoted(names)};
}

CheckResult HostPorts(const Pod& pod) {
  std::vector<std::string> bad;
  std::set<std::string> used;
  for (const auto* container : pod.Containers()) {
    const auto& ports = (*container)["ports"];
    if (!ports.is_array()) continue;
    bool guilty = false;
    for (const auto& port : ports.as_array())
      if (const auto number = port["hostPort"].int_or(0); number != 0) {
        guilty = true;
        used.insert(std::to_string(number));
      }
    if (guilty) bad.push_back(ContainerName(*container));
  }
  if (bad.empty()) return std::nullopt;
  return Violation{"hostPort", NamedContainers(bad) + Plural(" uses ", " use ", bad.size()) +
                                   Plural("hostPort ", "hostPorts ", used.size()) +
                                   JoinText({used.begin(), used.end()}, ", ")};
}

CheckResult HostProbes(const Pod& pod) {
  std::set<std::string> bad, hosts;
  const auto inspect = [&](const json::Value& container, const json::Value& handler) {
    for (const std::string_view way : {"httpGet", "tcpSocket"})
      if (const auto host = handler[way]["host"].string_or(""); !host.empty()) {
        bad.insert(ContainerName(container));
        hosts.emplace(host);
      }
  };
  for (const auto* container : pod.Containers()) {
    for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
      inspect(*container, (*container)[probe]);
    for (const std::string_view hook : {"postStart", "preStop"})
      inspect(*container, (*container)["lifecycle"][hook]);
  }
  if (bad.empty()) return std::nullopt;
  return Violation{"probe or lifecycle host",
                   NamedContainers({bad.begin(), bad.end()}) + Plural(" uses ", " use ", bad.size()) +
                       Plural("probe or lifecycle host ", "probe or lifecycle hosts ", hosts.size()) +
                       JoinQuoted(hosts)};
}

CheckResult Privileged(const Pod& pod) {
  std::vector<std::string> bad;
  for (const auto* container : pod.Containers())
    if ((*container)["securityContext"]["privileged"].bool_or(false))
      bad.push_back(ContainerName(*container));
  if (bad.empty()) return std::nullopt;
  return Violation{"privileged", NamedContainers(bad) + " must not set securityContext.privileged=true"};
}

CheckResult ProcMount(const Pod& pod) {
  std::vector<std::string> bad;
  std::set<std::string> values;
  for (const auto* container : pod.Containers()) {
    const auto* mount = (*container)["securityContext"].Find("procMount");
    if (!mount || mount->is_null() || mount->string_or("") == "Default") continue;
    bad.push_back(ContainerName(*container));
    values.emplace(mount->string_or(""));
  }
  if (bad.empty()) return std::nullopt;
  return Violation{"procMount",
                   NamedContainers(bad) + " must not set securityContext.procMount to " + JoinQuoted(values)};
}

CheckResult SeLinuxOptions(const Pod& pod) {
  std::set<std::string> types;
  bool user = false, role = false;
  const auto setters = FindBadSetters(pod, [&](const json::Value& security) -> std::optional<std::string> {
    const auto& options = security["seLinuxOptions"];
    if (!options.is_object()) return std::nullopt;
    const auto type = options["type"].string_or("");
    const bool allowed = type.empty() || type == "container_t" || type == "container_init_t" ||
                         type == "container_kvm_t" || (pod.minor >= 31 && type == "container_engine_t");
    if (!allowed) types.emplace(type);
    const bool has_user = !options["user"].string_or("").empty(),
               has_role = !options["role"].string_or("").empty();
    user |= has_user;
    role |= has_role;
    if (allowed && !has_user && !has_role) return std::nullopt;
    return std::string(type);
  });
  if (!setters.any()) return std::nullopt;
  std::vector<std::string> data;
  if (!types.empty()) data.push_back(Plural("type ", "types ", types.size()) + JoinQuoted(types));
  if (user) data.emplace_back("user may not be set");
  if (role) data.emplace_back("role may not be set");
  return Violation{"seLinuxOptions", setters.ToString() + " set forbidden securityContext.seLinuxOptions: " +
                                         JoinText(data, "; ")};
}

CheckResult BaselineSeccomp(const Pod& pod) {
  const auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    const auto* profile = security.Find("seccompProfile");
    if (!profile || !profile->is_object()) return std::nullopt;
    const auto type = (*profile)["type"].string_or("");
    if (type == "RuntimeDefault" || type == "Localhost") return std::nullopt;
    return std::string(type);
  });
  if (!setters.any()) return std::nullopt;
  return Violation{"seccompProfile", setters.ToString() +
                                         " must not set securityContext.seccompProfile.type to " +
                                         JoinQuoted(setters.values)};
}

struct SafeSysctl {
  std::string_view name;
  int since;
};
constexpr std::array<SafeSysctl, 12> kSafeSysctls = {{{"kernel.shm_rmid_forced", 0},
                                                      {"net.ipv4.ip_local_port_range", 0},
                                                      {"net.ipv4.tcp_syncookies", 0},
                                                      {"net.ipv4.ping_group_range", 0},
                                                      {"net.ipv4.ip_unprivileged_port_start", 0},
                                                      {"net.ipv4.ip_local_reserved_ports", 27},
                                                      {"net.ipv4.tcp_keepalive_time", 29},
                                                      {"net.ipv4.tcp_fin_timeout", 29},
                                                      {"net.ipv4.tcp_keepalive_intvl", 29},
                                                      {"net.ipv4.tcp_keepalive_probes", 29},
                                                      {"net.ipv4.tcp_rmem", 32},
                                                      {"net.ipv4.tcp_wmem", 32}}};

CheckResult Sysctls(const Pod& pod) {
  std::vector<std::string> forbidden;
  if (const auto& list = pod.Security()["sysctls"]; list.is_array())
    for (const auto& sysctl : list.as_array()) {
      const auto name = sysctl["name"].string_or("");
      bool safe = false;
      for (const auto& known : kSafeSysctls) safe |= known.name == name && pod.minor >= known.since;
      if (!safe) forbidden.emplace_back(name);
    }
  if (forbidden.empty()) return std::nullopt;
  return Violation{"forbidden sysctls", JoinText(forbidden, ", ")};
}

CheckResult WindowsHostProcess(const Pod& pod) {
  const auto setters = FindBadSetters(pod, [](const json::Value& security) -> std::optional<std::string> {
    if (security["windowsOptions"]["hostProcess"].bool_or(false)) return "true";
    return std::nullopt;
  });
  if (!setters.any()) return std::nullopt;
  return Violation{"hostProcess",
                   setters.ToString() + " must not set securityContext.windowsOptions.hostProcess=true"};
}

constexpr std::array<Check, 12> kBaseline = {{{"appArmorProfile", 0, AppArmorProfile},
                                              {"capabilities_baseline", 0, BaselineCapabilities},
                                              {"hostNamespaces", 0, HostNamespaces},
                                              {"hostPathVolumes", 0, HostPathVolumes},
                                              {"hostPorts", 0, HostPorts},
                                              {"hostProbesAndHostLifecycle", 34, HostProbes},
                                              {"privileged", 0, Privileged},
                                              {"procMount", 0, ProcMount},
                                              {"seLinuxOptions", 0, SeLinuxOptions},
                                              {"seccompProfile_baseline", 19, BaselineSeccomp},
                                              {"sysctls", 0, Sysctls},
                                              {"windowsHostProcess", 0, WindowsHostProcess}}};

}  // namespace

std::span<const Check> BaselineChecks() {
  return kBaseline;
}

}  // namespace flyball::api::pod_security
