// Runs external programs that the user chooses: an editor, a diff program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

// A private folder in the system's temporary folder, readable only by the user. Removed with the object
// unless kept. Thread-compatible.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  void Keep() { path_.clear(); }
  // Returns the path of the written file.
  Result<std::string> Write(const std::filesystem::path& name, std::string_view text) const;

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Runs the configured command line through the shell, with these arguments, on our terminal. Returns the exit
// status; 127 or more if it could not be run or was killed.
int RunExternal(const std::string& command_line, const std::vector<std::string>& arguments);

// The first of these environment variables that is set, else `otherwise`.
std::string FromEnvironment(const std::vector<const char*>& names, const std::string& otherwise);

}  // namespace flyball::cli
