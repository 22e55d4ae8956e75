// Files that must survive a power cut: keys, certificates, tokens, kubeconfigs. Thread-safe, but callers must
// not write to one path concurrently.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball {

inline constexpr mode_t kPrivateFileMode = 0600;

// Returns the whole file. The error names the path and the reason.
Result<std::string> ReadFile(const std::string& path);

// Replaces the file atomically and durably: after a crash or power loss it holds the old content or the new,
// never a part of it. Writes to `path`.tmp, syncs and renames it, then syncs the folder. A symbolic link
// stays; the file it points to is replaced.
Status WriteFileDurably(const std::string& path, std::string_view content, mode_t mode = kPrivateFileMode);

// Creates the folder and its parents, accessible only to the owner. An existing folder keeps its mode.
Status MakePrivateFolder(const std::string& path);

// Makes new, renamed and removed entries of a folder durable.
Status SyncFolder(const std::string& folder);
// Does the same for the folder that holds `path`.
Status SyncFolderOf(const std::string& path);

}  // namespace flyball
