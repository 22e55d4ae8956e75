// Memory for nghttp2's sessions. Each holds a 16 KB frame buffer for life, of which an idle connection uses
// the first few hundred bytes: taken from fresh pages, the rest of it never becomes resident.
#pragma once

#include <nghttp2/nghttp2.h>

namespace flyball::net {

// Thread-safe. Lives for ever.
nghttp2_mem* LazyH2Memory();

}  // namespace flyball::net
