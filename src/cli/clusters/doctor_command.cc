#include <dlfcn.h>
#include <sys/resource.h>
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
#include "network/pods/pod_network.h"

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

bool CanLoad(const char* library) {
  void* const handle = ::dlopen(library, RTLD_LAZY);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

Finding OpenFiles() {
  constexpr rlim_t kEnough = 4096;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {"open files", limit.rlim_max >= kEnough, std::to_string(limit.rlim_max) + " at most",
          "ulimit -n 65536, or LimitNOFILE= of the service"};
}

// Of the file system that clusters are kept in.
Finding DiskSpace() {
  constexpr std::uintmax_t kGibibyte = 1ull << 30;
  std::filesystem::path place = FromEnvironment({"XDG_DATA_HOME", "HOME"}, "/");
  std::error_code ec;
  while (!std::filesystem::exists(place, ec) && place.has_relative_path()) place = place.parent_path();
  const auto space = std::filesystem::space(place, ec);
  const bool known = !ec;
  return {
      "disk space", known && space.available >= 2 * kGibibyte,
      known ? std::to_string(space.available / kGibibyte) + " GiB free in " + place.string() : ec.message(),
      "free 2 GiB for images and data, or set XDG_DATA_HOME to a folder with more room"};
}

// What pods with addresses of their own need.
std::vector<Finding> ExamineNetwork() {
  const auto why_not = network::WhyNoPodNetwork();
  const bool library = CanLoad("libnftables.so.1");
  return {
      {"pod networks", !why_not, why_not.value_or("can be made"),
       "run as root; in a container, allow it CAP_SYS_ADMIN and CAP_NET_ADMIN. Until then pods have this "
       "machine's network: no two with the same port, no Services, no network policies"},
      {"libnftables", library, library ? "there" : "not there",
       "install libnftables1 (nftables-libs on RHEL)"},
  };
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
  std::vector<Finding> findings = {
      {"kernel", major >= 5, kernel.release, "use Linux 5.4 or later"},
      {"root", ::geteuid() == 0, ::geteuid() == 0 ? "yes" : "no",
       "run as root for containers with their own network and limits; the sim runtime needs none of it"},
      {"cgroup v2", cgroup2, cgroup2 ? "mounted" : "not mounted",
       "boot with systemd.unified_cgroup_hierarchy=1, or mount cgroup2 on /sys/fs/cgroup"},
      {"namespaces", namespaces, namespaces ? "allowed" : "not allowed",
       "sysctl user.max_user_namespaces=10000"},
      {"overlayfs", overlay, overlay ? "there" : "not there", "modprobe overlay"},
      Program("OCI runtime", {"crun", "runc"}, "install crun or runc"),
      {"port 6443", port_free, port_free ? "free" : "taken",
       "a cluster takes another port by itself; or use --port"},
      OpenFiles(),
      DiskSpace(),
  };
  for (Finding& finding : ExamineNetwork()) findings.push_back(std::move(finding));
  return findings;
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
  std::cout << "Not there, whatever the machine has: user namespaces of pods (hostUsers: false), whose pods "
               "wait with an "
               "event.\n";
  if (!FileText("/sys/module/apparmor/parameters/enabled").starts_with('Y'))
    std::cout << "This kernel has no AppArmor: pods that ask for a profile are refused.\n";
  return 0;
}

}  // namespace

void AddDoctorCommand(const Command& root) {
  root.Sub("doctor", "Say what this machine can and cannot do, and what helps", "flyball doctor")
      .RunLocal(&RunDoctor);
}

}  // namespace flyball::cli
