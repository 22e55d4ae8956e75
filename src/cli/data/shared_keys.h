// The keys that all servers of a cluster on one etcd must have: the authorities, the service account key, the
// encryption configuration. The first server stores them in the same etcd, sealed with the join key, which
// lies in its pki/join-key; a server that is given the join key gets them from there (`flyball up --join`).
#pragma once

#include <string>

#include "base/values/result.h"
#include "store/store.h"

namespace flyball::cli {

// Where they are: outside of the objects, with the cluster's prefix.
inline constexpr const char* kSharedKeysKey = "/registry-flyball/keys";

// That of the data folder, made if it has none. Hexadecimal.
Result<std::string> OwnJoinKey(const std::string& data_dir);

// Gets the keys into the data folder, and keeps the join key there. BadRequest for a join key that is none or
// not of this cluster; NotFound if no server has stored its keys. A folder that has other keys is left as it
// is, with an error.
Status FetchSharedKeys(const store::Store& store, const std::string& data_dir, const std::string& join_key);

// Refuses to start beside another cluster: BadRequest if the keys in the store are not sealed with the join
// key of the data folder, or not the folder's. To be called before anything is written to the store.
Status CheckSharedKeys(const store::Store& store, const std::string& data_dir);

// Stores the data folder's keys, for those that join from now on. BadRequest if a server of another cluster
// was faster.
Status PublishSharedKeys(store::Store& store, const std::string& data_dir);

}  // namespace flyball::cli
