#include "node/csi/csi_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files/durable_file.h"
#include "controller/objects/csi_names.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kCsiRecordFile[] = "vol_data.json";
constexpr char kPodVolumes[] = "/volumes/kubernetes.io~csi";
constexpr char kMountName[] = "/mount";
constexpr mode_t kCsiFolderMode = 0750;  // as kubelet's

std::string CsiFolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::vector<std::string> CsiNamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  return names;
}

// Kubelet's members, and one of ours.
std::string CsiRecordText(const CsiRecord& record) {
  return json::Write(
      json::Value(json::Object{{"specVolID", record.volume},
                               {"volumeHandle", record.handle},
                               {"driverName", record.driver},
                               {"nodeName", record.node},
                               {"attachmentID", CsiAttachmentName(record.driver, record.handle, record.node)},
                               {"volumeLifecycleMode", record.ephemeral ? "Ephemeral" : "Persistent"},
                               {"attachable", record.attachable}}));
}

std::optional<CsiRecord> ReadCsiRecord(const std::string& folder) {
  const auto text = ReadFile(folder + "/" + kCsiRecordFile);
  if (!text) return std::nullopt;
  const auto parsed = json::Parse(*text);
  if (!parsed) return std::nullopt;
  const json::Value& value = *parsed;
  return CsiRecord{.volume = std::string(value["specVolID"].string_or("")),
                   .driver = std::string(value["driverName"].string_or("")),
                   .handle = std::string(value["volumeHandle"].string_or("")),
                   .node = std::string(value["nodeName"].string_or("")),
                   .ephemeral = value["volumeLifecycleMode"].string_or("") == "Ephemeral",
                   .attachable = value["attachable"].bool_or(false)};
}

Error CsiFileError(const std::string& path) {
  return InternalError(path + ": " + std::strerror(errno));
}

}  // namespace

bool IsMountPoint(const std::string& path) {
  struct statx info {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &info) != 0) return false;
  return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

std::string CsiRecords::TargetPath(const std::string& pod_uid, const std::string& volume) const {
  return root_ + "/pods/" + pod_uid + kPodVolumes + "/" + volume + kMountName;
}

std::string CsiRecords::StagingPath(const std::string& driver, const std::string& handle) const {
  return staging_root_ + "/plugins/kubernetes.io/csi/" + driver + "/" + net::HexEncode(net::Sha256(handle)) +
         "/globalmount";
}

Status CsiRecords::Write(const std::string& path, const CsiRecord& record) const {
  const std::string folder = CsiFolderOf(path);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Unexpected(InternalError(folder + ": " + error.message()));
  chmod(folder.c_str(), kCsiFolderMode);
  return WriteFileDurably(folder + "/" + kCsiRecordFile, CsiRecordText(record));
}

Status CsiRecords::MakeFolder(const std::string& path) const {
  if (mkdir(path.c_str(), kCsiFolderMode) != 0 && errno != EEXIST) return Unexpected(CsiFileError(path));
  return {};
}

Status CsiRecords::Remove(const std::string& path) const {
  if (IsMountPoint(path)) return Unexpected(InternalError(path + " is still mounted"));
  // What a driver has put there is not ours to remove: only folders and files that are empty go.
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    const bool file = S_ISREG(info.st_mode) && info.st_size == 0;
    if ((file ? unlink(path.c_str()) : rmdir(path.c_str())) != 0) return Unexpected(CsiFileError(path));
  }
  const std::string folder = CsiFolderOf(path), record = folder + "/" + kCsiRecordFile;
  if (unlink(record.c_str()) != 0 && errno != ENOENT) return Unexpected(CsiFileError(record));
  if (rmdir(folder.c_str()) != 0 && errno != ENOENT) return Unexpected(CsiFileError(folder));
  return {};
}

std::vector<CsiRecord> CsiRecords::Published(const std::string& pod_uid) const {
  std::vector<CsiRecord> records;
  const auto add = [&](const std::string& uid) {
    const std::string folder = root_ + "/pods/" + uid + kPodVolumes;
    for (const std::string& name : CsiNamesIn(folder)) {
      auto record = ReadCsiRecord(folder + "/" + name);
      if (!record || record->node != node_) continue;
      record->volume = name;
      record->pod_uid = uid;
      records.push_back(std::move(*record));
    }
  };
  if (!pod_uid.empty()) {
    add(pod_uid);
  } else {
    for (const std::string& uid : CsiNamesIn(root_ + "/pods")) add(uid);
  }
  return records;
}

std::vector<CsiRecord> CsiRecords::Staged() const {
  std::vector<CsiRecord> records;
  const std::string drivers = staging_root_ + "/plugins/kubernetes.io/csi";
  for (const std::string& driver : CsiNamesIn(drivers))
    for (const std::string& hash : CsiNamesIn(drivers + "/" + driver)) {
      auto record = ReadCsiRecord(drivers + "/" + driver + "/" + hash);
      if (record && record->node == node_) records.push_back(std::move(*record));
    }
  return records;
}

void CsiRecords::RemovePod(const std::string& pod_uid) const {
  const std::string pod = root_ + "/pods/" + pod_uid;
  rmdir((pod + kPodVolumes).c_str());
  rmdir((pod + "/volumes").c_str());
  rmdir(pod.c_str());
}

}  // namespace flyball::node
