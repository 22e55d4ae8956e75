#include "base/files/temporary_folder.h"

#include <cstdlib>
#include <fstream>

namespace flyball {
namespace {

// No server's: without a status code.
Error TemporaryError(std::string message) {
  return Error(Reason::kUnknown, 0, std::move(message));
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::Make(const std::filesystem::path& parent) {
  std::error_code ec;
  const std::filesystem::path folder = parent.empty() ? std::filesystem::temp_directory_path(ec) : parent;
  std::string pattern = (folder / "flyball-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    return Unexpected(TemporaryError("cannot make a temporary folder: " + pattern));
  return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> TemporaryFolder::Write(const std::filesystem::path& name, std::string_view text) const {
  const std::filesystem::path path = path_ / name;
  std::error_code ec;
  std::filesystem::create_directories(path.parent_path(), ec);
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) return Unexpected(TemporaryError("cannot write " + path.string()));
  return path.string();
}

}  // namespace flyball
