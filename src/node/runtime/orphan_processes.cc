#include "node/runtime/orphan_processes.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "node/runtime/native_process.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// Session leader's pid -> its start time.
using Recorded = std::map<pid_t, unsigned long long>;

Recorded ReadRecords(const std::string& containers_dir) {
  Recorded recorded;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(containers_dir, error)) {
    std::ifstream file(entry.path());
    pid_t pid = 0;
    unsigned long long start = 0;
    if (file >> pid >> start && pid > 1) recorded[pid] = start;
  }
  return recorded;
}

// A session whose leader is another process now is another session.
bool InRecordedSession(pid_t pid, const Recorded& recorded) {
  const pid_t session = getsid(pid);
  const auto found = recorded.find(session);
  if (found == recorded.end()) return false;
  const unsigned long long leader_start = ProcessStartTime(session);
  if (leader_start != 0) return leader_start == found->second;
  return ProcessStartTime(pid) >= found->second;
}

}  // namespace

bool HasInEnvironment(pid_t pid, const std::string& name, const std::string& value) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string environment = '\0' + text.str();
  return environment.find('\0' + name + "=" + value + '\0') != std::string::npos;
}

int KillLeftovers(const std::string& containers_dir, const std::string& data_dir) {
  const Recorded recorded = ReadRecords(containers_dir);
  int killed = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1 || pid == getpid()) continue;
    if (!InRecordedSession(pid, recorded) && !HasInEnvironment(pid, kOwnerVariable, data_dir)) continue;
    if (kill(pid, SIGKILL) == 0) ++killed;
  }
  fs::remove_all(containers_dir, error);
  return killed;
}

}  // namespace flyball::node
