#include "cli/kustomize/input/folder_loader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/kustomize/resource/failure.h"

namespace flyball::cli::kustomize {
namespace {

namespace fs = std::filesystem;

// Go's words for a failed system call.
std::string ProblemText(std::error_code code) {
  switch (code.value()) {
    case ENOENT:
      return "no such file or directory";
    case ENOTDIR:
      return "not a directory";
    case EACCES:
      return "permission denied";
    case ELOOP:
      return "too many levels of symbolic links";
    default:
      return code.message();
  }
}

// The path up to the first part that cannot be looked at.
std::string FirstProblem(const fs::path& absolute, std::error_code& problem) {
  fs::path prefix;
  for (const fs::path& part : absolute) {
    prefix /= part;
    const fs::file_status status = fs::symlink_status(prefix, problem);
    if (status.type() == fs::file_type::not_found && !problem)
      problem = std::make_error_code(std::errc::no_such_file_or_directory);
    if (problem) break;
  }
  return prefix.string();
}

// Absolute and without symbolic links.
Result<fs::path> Resolve(const std::string& path) {
  std::error_code code;
  const fs::path absolute = fs::absolute(path, code).lexically_normal();
  fs::path resolved = fs::canonical(absolute, code);
  if (!code) return resolved;
  std::error_code problem = code;
  const std::string where = FirstProblem(absolute, problem);
  return Fail("evalsymlink failure on '" + path + "' : lstat " + where + ": " +
              ProblemText(problem ? problem : code));
}

Result<std::string> ConfirmFolder(const std::string& path) {
  auto resolved = Resolve(path);
  if (!resolved) return Wrap("must build at directory: not a valid directory", resolved.error());
  std::error_code code;
  if (!fs::is_directory(*resolved, code))
    return Fail("must build at directory: '" + path + "': file is not directory");
  return resolved->string();
}

bool IsInside(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

std::string Joined(const std::string& root, const std::string& path) {
  std::string joined = (fs::path(root) / path).lexically_normal().string();
  if (joined.size() > 1 && joined.back() == '/') joined.pop_back();
  return joined;
}

Unexpected RemoteFailure(const std::string& path) {
  return Fail("remote resources are not supported: '" + path +
              "': fetch it first and name the local folder or file");
}

}  // namespace

bool IsRemote(const std::string& path) {
  for (const char* start :
       {"git::", "git@", "gh:", "github.com/", "github.com:", "bitbucket.org/", "gitlab.com/"})
    if (path.starts_with(start)) return true;
  return path.find("://") != std::string::npos;
}

Result<FolderLoader> FolderLoader::Open(const std::string& path, bool anywhere) {
  std::error_code code;
  if (IsRemote(path) && !fs::exists(path, code)) return RemoteFailure(path);
  FLYBALL_ASSIGN(std::string root, ConfirmFolder(path));
  return FolderLoader(std::move(root), anywhere, nullptr);
}

Result<FolderLoader> FolderLoader::Enter(const std::string& path) const {
  if (path.empty()) return Fail("new root cannot be empty");
  if (IsRemote(path)) return RemoteFailure(path);
  if (path[0] == '/') return Fail("new root '" + path + "' cannot be absolute");
  FLYBALL_ASSIGN(std::string root, ConfirmFolder(Joined(root_, path)));
  for (const FolderLoader* visited = this; visited != nullptr; visited = visited->referrer_)
    if (IsInside(visited->root_, root))
      return Fail("cycle detected: candidate root '" + root + "' contains visited root '" + visited->root_ +
                  "'");
  return FolderLoader(std::move(root), anywhere_, this);
}

Result<std::string> FolderLoader::Read(const std::string& path) const {
  if (path.starts_with("http://") || path.starts_with("https://")) return RemoteFailure(path);
  const std::string full = path.starts_with('/') ? path : Joined(root_, path);
  FLYBALL_ASSIGN(const fs::path resolved, Resolve(full));
  std::error_code code;
  if (fs::is_directory(resolved, code)) return Fail("'" + full + "' must resolve to a file");
  if (!anywhere_ && !IsInside(resolved.parent_path().string(), root_))
    return Fail("security; file '" + full + "' is not in or below '" + root_ + "'");
  errno = 0;
  std::ifstream in(resolved, std::ios::binary);
  if (!in)
    return Fail("open " + resolved.string() + ": " +
                ProblemText(std::error_code(errno, std::system_category())));
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

}  // namespace flyball::cli::kustomize
