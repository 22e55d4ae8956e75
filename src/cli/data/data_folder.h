// The data folder of `apiserver` and `up`: what lives where in it, and what must be true of it before a
// server starts on it.
//
//   flyball.db (-wal, -shm, -lock)   the store
//   pki/                             CA, administrator, service account key, encryption keys
//   kubeconfig                       the administrator's, written at every start
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "store/sqlite/sqlite_store.h"

namespace flyball::cli {

std::string DatabasePath(const std::string& data_dir);
std::string PkiPath(const std::string& data_dir);

// Makes the folder for its owner alone (0700), or tightens the mode of one that is a data folder already.
// Refuses a folder that has the certificates of a cluster but not its database: starting there would begin an
// empty cluster under the old one's identity.
Status PrepareDataFolder(const std::string& data_dir);
// The same for a server whose store is elsewhere: the folder has the certificates alone.
Status PrepareKeyFolder(const std::string& data_dir);

// The files of pki/, for a snapshot: with them a restored cluster is the same one to its clients.
Result<std::vector<store::SnapshotFile>> CollectKeyFiles(const std::string& data_dir);
// Puts them back. Refuses names that lead out of the folder, and to replace a file with another content.
Status RestoreKeyFiles(const std::string& data_dir, const std::vector<store::SnapshotFile>& files);

}  // namespace flyball::cli
