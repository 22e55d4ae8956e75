// TemporaryFolder: files that go with the one who made them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/values/result.h"

namespace flyball {

// A private folder, readable only by the user. Removed with the object unless kept. Thread-compatible.
class TemporaryFolder {
 public:
  // In `parent`; empty: in the system's temporary folder.
  static Result<TemporaryFolder> Make(const std::filesystem::path& parent = {});
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

}  // namespace flyball
