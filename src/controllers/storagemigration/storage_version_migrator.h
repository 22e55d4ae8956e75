// The storage version migrator: rewrites every object of the resource that a StorageVersionMigration names,
// so that all are stored in the current version and encrypted with the current key (upstream:
// storage-version-migrator-controller).
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddStorageVersionMigrator(Manager& manager, int workers);

}  // namespace flyball::controllers
