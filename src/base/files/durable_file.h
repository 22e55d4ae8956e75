// Files that must survive a power cut: keys, certificates, tokens, kubeconfigs. Thread-safe; two writers of
// one path must take turns.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball {

inline constexpr mode_t kPrivateFileMode = 0600;

// The whole file. The error names the path and the reason.
Result<std::string> ReadFile(const std::string& path);

// Replaces the file atomically and durably: after a crash or power loss there is the old content or the new,
// never a part of it. The content goes to `path`.tmp, is synced, renamed, and the folder is synced. A
// symbolic link stays, the file it points to is replaced.
Status WriteFileDurably(const std::string& path, std::string_view content, mode_t mode = kPrivateFileMode);

// Makes the folder (and its parents) for its owner alone. A folder that is there already keeps its mode.
Status MakePrivateFolder(const std::string& path);

// Makes new, renamed and removed entries of a folder durable.
Status SyncFolder(const std::string& folder);
// The same for the folder that holds `path`.
Status SyncFolderOf(const std::string& path);

}  // namespace flyball
