// How a handler says what is to follow the body: by fields of its head whose name has this prefix (as in Go's
// net/http). HTTP/2 sends them, without it, as trailers; HTTP/1.1 leaves them out.
#pragma once

#include <string_view>

namespace flyball::net {

inline constexpr std::string_view kTrailerPrefix = "trailer:";

}  // namespace flyball::net
