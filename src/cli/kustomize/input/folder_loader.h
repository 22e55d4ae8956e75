// FolderLoader: reads the files of one kustomization (upstream: loader.FileLoader). Files must be in or below
// its folder, so that a base means the same wherever it is used.
#pragma once

#include <string>

#include "base/values/result.h"

namespace flyball::cli::kustomize {

// Thread-compatible. One made by Enter() must not outlive the one it was made from.
class FolderLoader {
 public:
  // `anywhere` allows files outside the folder. Fails if the path is not a folder.
  static Result<FolderLoader> Open(const std::string& path, bool anywhere);

  // The loader of another kustomization that this one names. Fails for absolute paths, for this folder and
  // those that contain it or one that led here, and for what is not a folder. Remote ones are not supported.
  Result<FolderLoader> Enter(const std::string& path) const;
  // The content of a file. The path is relative to the folder, or absolute.
  Result<std::string> Read(const std::string& path) const;

  // Absolute, without symbolic links.
  const std::string& root() const { return root_; }

 private:
  FolderLoader(std::string root, bool anywhere, const FolderLoader* referrer)
      : root_(std::move(root)), anywhere_(anywhere), referrer_(referrer) {}

  std::string root_;
  bool anywhere_;
  const FolderLoader* referrer_;  // null for the first one
};

// Whether kustomize would fetch it from elsewhere: a URL or the address of a git repository.
bool IsRemote(const std::string& path);

}  // namespace flyball::cli::kustomize
