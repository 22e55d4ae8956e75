// The local-path provisioner: makes a folder of this machine for each claim of its class, and removes it with
// the volume (upstream: an external provisioner, as sig-storage-lib-external-provisioner has them).
//
// All nodes must see the folder: it is for clusters on one machine. A volume is as large as the disk,
// whatever the claim asks for.
#pragma once

#include <string>

#include "base/values/result.h"
#include "controller/manager.h"
#include "json/value.h"

namespace flyball::node {

inline constexpr char kLocalPathProvisioner[] = "flyball.dev/local-path";

// The StorageClass `local-path`, marked as the default.
json::Value LocalPathClass();

// Adds it to a manager that has not been started. The folder is made when it is needed.
Status AddLocalPathProvisioner(Manager& manager, const std::string& folder);

}  // namespace flyball::node
