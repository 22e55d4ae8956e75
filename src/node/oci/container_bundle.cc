#include "node/oci/container_bundle.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "json/json.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// A mount's options have one page.
constexpr std::size_t kMaxMountOptions = 4095;
constexpr std::size_t kMaxRuncError = 4096;

Error BundleError(const std::string& what) {
  return InternalError(what + ": " + std::strerror(errno));
}

Result<std::string> OverlayOptions(const std::string& folder, const std::vector<std::string>& layers) {
  std::string lower;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    lower += (lower.empty() ? "" : ":") + *layer;
  if (lower.empty()) lower = folder + "/empty";
  std::string options = "lowerdir=" + lower + ",upperdir=" + folder + "/upper,workdir=" + folder + "/work";
  if (options.size() > kMaxMountOptions)
    return Unexpected(InternalError("the image has more layers than one mount can have"));
  return options;
}

}  // namespace

Status ContainerBundle::Make(const StoredImage& image) const {
  Remove();
  for (const char* name : {"", "/rootfs", "/upper", "/work", "/empty"})
    FLYBALL_TRY(MakePrivateFolder(folder_ + name));
  // What a container sees as its root is for every user in it.
  ::chmod((folder_ + "/upper").c_str(), 0755);
  FLYBALL_ASSIGN(const std::string options, OverlayOptions(folder_, image.layers));
  if (mount("overlay", rootfs().c_str(), "overlay", 0, options.c_str()) != 0)
    return Unexpected(BundleError("cannot mount the image by overlayfs"));
  std::ofstream(termination_log()).flush();
  ::chmod(termination_log().c_str(), 0666);
  return {};
}

Status ContainerBundle::WriteConfig(const json::Value& config) const {
  return WriteFileDurably(folder_ + "/config.json", json::Write(config));
}

Status ContainerBundle::WriteRecord(const ContainerRecord& record) const {
  const json::Value value = json::Object{{"id", record.id},
                                         {"name", record.name},
                                         {"image", record.image},
                                         {"cgroupPath", record.cgroup_path},
                                         {"logPath", record.log_path},
                                         {"stopSignal", record.stop_signal},
                                         {"attempt", record.attempt},
                                         {"tty", record.tty},
                                         {"stdin", record.stdin},
                                         {"stdinOnce", record.stdin_once},
                                         {"messageFromLog", record.message_from_log},
                                         {"startedAt", record.started_at.time_since_epoch().count()}};
  return WriteFileDurably(folder_ + "/record.json", json::Write(value));
}

Result<ContainerRecord> ContainerBundle::ReadRecord() const {
  FLYBALL_ASSIGN(const std::string text, ReadFile(folder_ + "/record.json"));
  FLYBALL_ASSIGN(const json::Value value, json::Parse(text));
  const auto word = [&](const char* key) { return std::string(value[key].string_or("")); };
  ContainerRecord record{.id = word("id"),
                         .name = word("name"),
                         .image = word("image"),
                         .cgroup_path = word("cgroupPath"),
                         .log_path = word("logPath"),
                         .stop_signal = word("stopSignal"),
                         .attempt = static_cast<int>(value["attempt"].int_or(0)),
                         .tty = value["tty"].bool_or(false),
                         .stdin = value["stdin"].bool_or(false),
                         .stdin_once = value["stdinOnce"].bool_or(false),
                         .message_from_log = value["messageFromLog"].bool_or(false)};
  record.started_at = TimePoint(TimePoint::duration(value["startedAt"].int_or(0)));
  if (record.id.empty()) return Unexpected(BadRequest(folder_ + ": the record has no id"));
  return record;
}

std::optional<RecordedExit> ContainerBundle::ReadExit() const {
  std::ifstream file(folder_ + "/exit");
  RecordedExit exit;
  if (!(file >> exit.wait_status >> exit.nanos)) return std::nullopt;
  return exit;
}

pid_t ContainerBundle::ReadPid() const {
  std::ifstream file(folder_ + "/pid");
  pid_t pid = 0;
  file >> pid;
  return pid;
}

std::string ContainerBundle::ReadRuncError() const {
  std::ifstream file(folder_ + "/runc.log");
  std::string last;
  for (std::string line; std::getline(file, line);) {
    const auto entry = json::Parse(line);
    if (entry && (*entry)["level"].string_or("") == "error") last = (*entry)["msg"].string_or("");
  }
  return last.empty() ? "the OCI runtime has failed" : last.substr(0, kMaxRuncError);
}

void ContainerBundle::MarkReaped() const {
  std::ofstream(folder_ + "/reaped").flush();
}

bool ContainerBundle::reaped() const {
  return access((folder_ + "/reaped").c_str(), F_OK) == 0;
}

void ContainerBundle::DropRoot() const {
  umount2(rootfs().c_str(), MNT_DETACH);
  const OwnedFd at(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return;
  for (const char* name : {"upper", "work", "empty"}) (void)RemoveTree(at.get(), name);
  rmdir(rootfs().c_str());
}

void ContainerBundle::Remove() const {
  DropRoot();
  const fs::path path(folder_);
  const OwnedFd parent(open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Never what is still mounted: that would be the image.
  if (parent && access(rootfs().c_str(), F_OK) != 0) (void)RemoveTree(parent.get(), path.filename().string());
}

}  // namespace flyball::node
