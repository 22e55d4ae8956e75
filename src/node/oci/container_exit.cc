#include <fstream>

#include "api/types/core.h"
#include "node/oci/oci_state.h"
#include "node/runtime/log_reader.h"
#include "node/runtime/native_streams.h"

namespace flyball::node {
namespace {

// Upstream: the kubelet's limit of a termination message.
constexpr std::size_t kMaxTerminationMessage = 4096;

// How often the kernel has killed in a cgroup for want of memory: version 2, then 1.
bool KilledForMemory(const std::string& cgroup_path) {
  for (const std::string& path : {"/sys/fs/cgroup" + cgroup_path + "/memory.events",
                                  "/sys/fs/cgroup/memory" + cgroup_path + "/memory.oom_control"}) {
    std::ifstream file(path);
    std::string key;
    long long count = 0;
    while (file >> key >> count)
      if (key == "oom_kill" && count > 0) return true;
  }
  return false;
}

std::string TerminationMessage(const ContainerBundle& bundle) {
  std::ifstream file(bundle.termination_log(), std::ios::binary);
  std::string text(kMaxTerminationMessage, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The end of what it wrote last.
std::string LogTail(const ContainerRecord& record) {
  // Upstream: MaxContainerTerminationMessageLogLines and -Length.
  constexpr int kLines = 80;
  constexpr std::size_t kBytes = 2048;
  LogReader reader(record.log_path, {.tail_lines = kLines});
  std::string text;
  for (;;) {
    const auto part = reader.Read();
    if (!part) break;
    text += part->text;
    if (part->at_end || part->exhausted) break;
  }
  return text.size() <= kBytes ? text : text.substr(text.size() - kBytes);
}

}  // namespace

ContainerExit DescribeExit(const OciContainer& container, const RecordedExit& exit) {
  ContainerExit described = ExitOf(exit.wait_status);
  // runc's process is not the kernel's word: containers' exit codes say the signal, as upstream.
  described.signal = 0;
  described.message = TerminationMessage(container.bundle);
  if (container.lost) {
    described.exit_code = 137;
    described.reason = "ContainerStatusUnknown";
    described.message = "The container could not be located when the pod was terminated";
  } else if (described.exit_code != 0 && KilledForMemory(container.record.cgroup_path)) {
    described.reason = "OOMKilled";
  }
  if (described.exit_code != 0 && described.message.empty() && container.record.message_from_log)
    described.message = LogTail(container.record);
  return described;
}

}  // namespace flyball::node
