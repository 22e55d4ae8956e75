// Which versions of etcd can be used.
#pragma once

#include <string_view>

#include "base/values/result.h"

namespace flyball::store::etcd {

// BadRequest if progress notifications of that version ("3.5.9") cannot be relied on: they may overtake
// events until 3.4.31 and 3.5.13 (upstream has the same list for consistent reads from its cache).
Status CheckVersion(std::string_view version);

}  // namespace flyball::store::etcd
