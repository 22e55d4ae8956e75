// Socket addresses as text.
#pragma once

#include <string>

namespace flyball::net {

// "127.0.0.1:40312", "[::1]:40312", of the other end of a connected socket; "" if it is gone already.
std::string PeerAddress(int fd);

// The machine's own IPv4 address towards the default route, where others are likely to reach it; "127.0.0.1"
// if it has no route (upstream: ChooseHostInterface). Sends nothing.
std::string HostAddress();

}  // namespace flyball::net
