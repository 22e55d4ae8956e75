#include "node/oci/pod_sandbox.h"

#include <sys/stat.h>

#include <fstream>

#include "base/files/durable_file.h"
#include "node/monitor/monitor_protocol.h"
#include "node/oci/runc.h"

namespace flyball::node {
namespace {

pid_t PidIn(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  file >> pid;
  return pid;
}

Status WriteReadable(const std::string& path, const std::string& text) {
  return WriteFileDurably(path, text, 0644);
}

}  // namespace

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
                                                   const std::vector<std::string>& ips,
                                                   const ClusterDns& dns) {
  const auto machine = [](const char* path) { return ReadFile(path).value_or(std::string()); };
  FLYBALL_TRY(WriteReadable(folder + "/hosts", HostsText(pod, ips, dns, machine("/etc/hosts"))));
  FLYBALL_TRY(WriteReadable(folder + "/hostname", PodHostname(pod) + "\n"));
  FLYBALL_TRY(WriteReadable(folder + "/resolv.conf", ResolvText(pod, dns, machine("/etc/resolv.conf"))));
  return std::vector<ContainerMount>{{.source = folder + "/hosts", .target = "/etc/hosts"},
                                     {.source = folder + "/hostname", .target = "/etc/hostname"},
                                     {.source = folder + "/resolv.conf", .target = "/etc/resolv.conf"}};
}

}  // namespace flyball::node
