// Moving a cluster's data from one store to another, of the same or another engine.
#pragma once

#include <cstddef>
#include <string>

#include "base/values/result.h"
#include "store/store.h"

namespace flyball::cli {

struct StoreCopy {
  std::size_t objects = 0;
  store::Revision from_revision = 0;  // what was copied is the source as of this
  store::Revision to_revision = 0;    // of the target afterwards: objects have new versions
  std::string checksum;               // SHA-256 of all keys and values, the same on both sides
  bool source_moved_on = false;       // somebody wrote to the source meanwhile
};

// Copies every object, as of one moment, into a store without any. Events live an hour from now on; entries
// of API servers that are running are left out. Then reads everything back and compares. Blocks. An error
// names the key where the two differ.
Result<StoreCopy> CopyStore(store::Store& from, store::Store& to);

}  // namespace flyball::cli
