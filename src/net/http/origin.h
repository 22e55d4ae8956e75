// Origin: where a client's requests go, from its URL.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::net {

struct Origin {
  bool tls = false;
  bool h2_prior_knowledge = false;  // "h2c://", "unix://"
  std::string host;                 // without brackets
  int port = 0;
  std::string path_prefix;  // "" or "/x", no slash at the end
  // Of a Unix socket; else empty. One that begins with '@' is in Linux' abstract namespace.
  std::string socket_path;

  // "host:port" as the Host header has it: brackets around IPv6, default ports left out.
  std::string authority() const;
};

// BadRequest if it is not "https://", "http://" or "h2c://" with a host, or "unix://" with an absolute path.
Result<Origin> ParseOrigin(std::string_view url);

}  // namespace flyball::net
