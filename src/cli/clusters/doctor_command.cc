#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/values/ascii.h"
#include "cli/clusters/cluster_commands.h"
#include "cli/clusters/named_cluster.h"
#include "cli/kubectl/session/external_program.h"

namespace flyball::cli {
namespace {

// One thing that a cluster here may need.
struct Finding {
  std::string what;
  bool good;
  std::string found, cure;
};

std::string FileText(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string ProgramOnPath(const std::vector<std::string>& names) {
  for (const std::string& folder : SplitText(FromEnvironment({"PATH"}, ""), ':'))
    for (const std::string& name : names)
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return "";
}

Finding Program(const char* what, const std::vector<std::string>& names, const char* cure) {
  const std::string path = ProgramOnPath(names);
  return {what, !path.empty(), path.empty() ? "not found" : path, cure};
}

std::vector<Finding> Examine() {
  utsname kernel{};
  ::uname(&kernel);
  const int major = std::atoi(kernel.release);
  const bool cgroup2 = ::access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;
  const bool namespaces = std::atoi(FileText("/proc/sys/user/max_user_namespaces").c_str()) > 0;
  const bool overlay = FileText("/proc/filesystems").find("\toverlay\n") != std::string::npos;
  const auto port = FreePort("127.0.0.1", 6443);
  const bool port_free = port && *port == 6443;
  return {
      {"kernel", major >= 5, kernel.release, "use Linux 5.4 or later"},
      {"root", ::geteuid() == 0, ::geteuid() == 0 ? "yes" : "no",
       "run as root for containers with their own network and limits; the sim runtime needs none of it"},
      {"cgroup v2", cgroup2, cgroup2 ? "mounted" : "not mounted",
       "boot with systemd.unified_cgroup_hierarchy=1, or mount cgroup2 on /sys/fs/cgroup"},
      {"namespaces", namespaces, namespaces ? "allowed" : "not allowed",
       "sysctl user.max_user_namespaces=10000"},
      {"overlayfs", overlay, overlay ? "there" : "not there", "modprobe overlay"},
      Program("nftables", {"nft"}, "install nftables"),
      Program("OCI runtime", {"crun", "runc"}, "install crun or runc"),
      {"port 6443", port_free, port_free ? "free" : "taken",
       "a cluster takes another port by itself; or use --port"},
  };
}

int RunDoctor() {
  bool all_good = true;
  for (const Finding& finding : Examine()) {
    std::cout << (finding.good ? "ok    " : "lacks ") << finding.what
              << std::string(14 - finding.what.size(), ' ') << finding.found << "\n";
    if (!finding.good) std::cout << "      cure: " << finding.cure << "\n";
    all_good &= finding.good;
  }
  std::cout << (all_good
                    ? "This machine can run everything.\n"
                    : "What is lacking is only needed by the native runtime; 'flyball up --runtime sim' runs "
                      "without it.\n");
  return 0;
}

}  // namespace

void AddDoctorCommand(const Command& root) {
  root.Sub("doctor", "Say what this machine can and cannot do, and what helps", "flyball doctor")
      .RunLocal(&RunDoctor);
}

}  // namespace flyball::cli
