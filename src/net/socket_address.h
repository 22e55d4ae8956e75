// Socket addresses as text.
#pragma once

#include <string>

namespace flyball::net {

// "127.0.0.1:40312", "[::1]:40312", of the other end of a connected socket; "" if it is gone already.
std::string PeerAddress(int fd);

}  // namespace flyball::net
