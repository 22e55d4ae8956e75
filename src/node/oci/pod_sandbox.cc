#include "node/oci/pod_sandbox.h"

#include <sys/stat.h>

#include <fstream>

#include "base/files/durable_file.h"
#include "node/monitor/monitor_protocol.h"
#include "node/oci/runc.h"

namespace flyball::node {
namespace {

constexpr std::size_t kMaxHostname = 63;

pid_t PidIn(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  file >> pid;
  return pid;
}

Status WriteReadable(const std::string& path, const std::string& text) {
  return WriteFileDurably(path, text, 0644);
}

std::string HostsText(const Pod& pod, const std::string& pod_ip) {
  std::string text =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
      "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n" +
      pod_ip + "\t" + PodHostname(pod) + "\n";
  if (!pod.spec.host_aliases.empty()) text += "\n# Entries added by HostAliases.\n";
  for (const HostAlias& alias : pod.spec.host_aliases) {
    text += alias.ip;
    for (const std::string& name : alias.hostnames) text += "\t" + name;
    text += "\n";
  }
  return text;
}

std::string ResolvText(const Pod& pod) {
  std::string text;
  const bool own = pod.spec.dns_policy == "None";
  if (const auto host = ReadFile("/etc/resolv.conf"); host && !own) text = *host;
  if (!pod.spec.dns_config) return text;
  const PodDNSConfig& config = *pod.spec.dns_config;
  for (const std::string& server : config.nameservers) text += "nameserver " + server + "\n";
  if (!config.searches.empty()) text += "search";
  for (const std::string& domain : config.searches) text += " " + domain;
  if (!config.searches.empty()) text += "\n";
  if (!config.options.empty()) text += "options";
  for (const PodDNSConfigOption& option : config.options)
    text += " " + option.name + (option.value ? ":" + *option.value : "");
  return config.options.empty() ? text : text + "\n";
}

}  // namespace

std::string PodHostname(const Pod& pod) {
  std::string name = pod.spec.hostname.empty() ? pod.metadata.name : pod.spec.hostname;
  name = name.substr(0, kMaxHostname);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name;
}

Result<pid_t> EnsureMonitor(ProcessLoop& loop, int program, const std::string& folder, const Pod& pod) {
  FLYBALL_TRY(MakePrivateFolder(folder));
  const std::string hostname = pod.spec.host_network ? "" : PodHostname(pod);
  // It leaves a process behind that serves, and ends.
  std::vector<std::string> argv = {"/proc/self/fd/" + std::to_string(program), folder, hostname};
  if (SharesPids(pod)) argv.emplace_back("share-pid");
  FLYBALL_TRY(RunProgramToEnd(loop, {.argv = std::move(argv)}));
  const pid_t pid = PidIn(folder + "/monitor.pid");
  if (pid <= 0) return Unexpected(InternalError("the pod's monitor has not said its pid"));
  return pid;
}

bool SharesPids(const Pod& pod) {
  return pod.spec.share_process_namespace.value_or(false) && !pod.spec.host_pid;
}

pid_t PausePid(const std::string& folder) {
  return PidIn(folder + "/pause.pid");
}

Result<std::vector<ContainerMount>> WriteNameFiles(const std::string& folder, const Pod& pod,
                                                   const std::string& pod_ip) {
  std::string hosts = HostsText(pod, pod_ip);
  if (const auto machine = ReadFile("/etc/hosts"); machine && pod.spec.host_network) hosts = *machine;
  FLYBALL_TRY(WriteReadable(folder + "/hosts", hosts));
  FLYBALL_TRY(WriteReadable(folder + "/hostname", PodHostname(pod) + "\n"));
  FLYBALL_TRY(WriteReadable(folder + "/resolv.conf", ResolvText(pod)));
  return std::vector<ContainerMount>{{.source = folder + "/hosts", .target = "/etc/hosts"},
                                     {.source = folder + "/hostname", .target = "/etc/hostname"},
                                     {.source = folder + "/resolv.conf", .target = "/etc/resolv.conf"}};
}

}  // namespace flyball::node
