#include "cli/data/data_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files/durable_file.h"
#include "base/observe/log.h"

namespace flyball::cli {
namespace {

bool HasContent(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && file.st_size > 0;
}

// Only a folder that is surely ours is changed: somebody may have given /tmp.
Status TightenMode(const std::string& dir) {
  struct stat info {};
  if (::stat(dir.c_str(), &info) != 0)
    return Unexpected(InternalError("cannot read the data folder " + dir + ": " + std::strerror(errno)));
  if (!S_ISDIR(info.st_mode))
    return Unexpected(
        InternalError("the data folder " + dir + " is a file: choose a folder with --data-dir"));
  if ((info.st_mode & 0077) == 0) return {};
  if (HasContent(DatabasePath(dir)) && (info.st_mode & S_ISVTX) == 0 && ::chmod(dir.c_str(), 0700) == 0)
    return {};
  log::Warning("the data folder can be entered by others; chmod 0700 it", {{"path", dir}});
  return {};
}

Status RequireDatabase(const std::string& dir) {
  const std::string database = DatabasePath(dir), authority = PkiPath(dir) + "/ca.key";
  if (HasContent(database) || HasContent(database + "-wal") || !std::filesystem::exists(authority)) return {};
  return Unexpected(
      InternalError("the data folder " + dir + " has the certificates of a cluster (" + PkiPath(dir) +
                    ") but its database " + database +
                    " is missing or empty. Put the database back, or `flyball snapshot restore` the last "
                    "snapshot; to begin "
                    "a new, empty cluster with these certificates, run `flyball store init --data-dir " +
                    dir + "`"));
}

// "pki/ca.key": below pki/, and nothing like ".." in it. A snapshot may come from anywhere.
bool IsKeyFileName(const std::string& name) {
  const std::filesystem::path path(name);
  if (path.is_absolute() || path.lexically_normal().string() != name || !name.starts_with("pki/"))
    return false;
  return std::none_of(path.begin(), path.end(),
                      [](const auto& part) { return part == ".." || part.empty(); });
}

Status CheckKeyFile(const std::string& data_dir, const store::SnapshotFile& file) {
  if (!IsKeyFileName(file.name))
    return Unexpected(BadRequest("the snapshot has a file with the name \"" + file.name +
                                 "\", which leads out of the data folder"));
  const std::string path = data_dir + "/" + file.name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  FLYBALL_ASSIGN(const std::string there, ReadFile(path));
  if (there == file.content) return {};
  return Unexpected(Error(Reason::kAlreadyExists,
                          path + " exists already with another content: move it away first, or restore into "
                                 "another data folder"));
}

}  // namespace

std::string DatabasePath(const std::string& data_dir) {
  return data_dir + "/flyball.db";
}

std::string PkiPath(const std::string& data_dir) {
  return data_dir + "/pki";
}

Status PrepareKeyFolder(const std::string& data_dir) {
  std::error_code ignored;
  if (!std::filesystem::exists(data_dir, ignored)) return MakePrivateFolder(data_dir);
  return TightenMode(data_dir);
}

Status PrepareDataFolder(const std::string& data_dir) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(data_dir, ignored);
  FLYBALL_TRY(PrepareKeyFolder(data_dir));
  return existed ? RequireDatabase(data_dir) : Status();
}

Result<std::vector<store::SnapshotFile>> CollectKeyFiles(const std::string& data_dir) {
  std::vector<store::SnapshotFile> files;
  std::error_code ec;
  for (auto it = std::filesystem::recursive_directory_iterator(PkiPath(data_dir), ec);
       !ec && it != std::filesystem::recursive_directory_iterator(); it.increment(ec)) {
    if (!it->is_regular_file() || it->path().extension() == ".tmp") continue;
    FLYBALL_ASSIGN(std::string content, ReadFile(it->path().string()));
    files.push_back({std::filesystem::relative(it->path(), data_dir).string(), std::move(content)});
  }
  // A folder that is not there has no files.
  if (ec && ec != std::errc::no_such_file_or_directory)
    return Unexpected(InternalError("cannot read " + PkiPath(data_dir) + ": " + ec.message()));
  return files;
}

Status RestoreKeyFiles(const std::string& data_dir, const std::vector<store::SnapshotFile>& files) {
  for (const auto& file : files) FLYBALL_TRY(CheckKeyFile(data_dir, file));
  for (const auto& file : files) {
    const std::string path = data_dir + "/" + file.name;
    FLYBALL_TRY(MakePrivateFolder(std::filesystem::path(path).parent_path().string()));
    FLYBALL_TRY(WriteFileDurably(path, file.content));
  }
  return {};
}

}  // namespace flyball::cli
