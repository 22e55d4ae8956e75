// StoreLocation: what `etcd` tells `kube-apiserver`.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::cli {

inline constexpr std::string_view kStoreLocationPath = "/flyball/v1/store";

struct StoreLocation {
  std::string data_dir;  // absolute
  bool sync = true;      // false: --unsafe-no-fsync
};

std::string StoreLocationText(const StoreLocation& location);

// Asks the `etcd` at one of these URLs, comma-separated as in --etcd-servers. Blocks, for at most a few
// seconds each. The error says if something else than Flyball's etcd answers there.
Result<StoreLocation> AskStoreLocation(const std::string& urls);

// The data folder of an API server whose keys begin with `prefix` (--etcd-prefix). Servers with different
// prefixes share an etcd without sharing objects.
std::string DataFolderOf(const StoreLocation& location, std::string_view prefix);

}  // namespace flyball::cli
