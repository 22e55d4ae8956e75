// Where questions that are not the cluster's are sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::dns {

struct Upstream {
  std::string ip;
  int port = 53;
  bool operator==(const Upstream&) const = default;
  std::string ToString() const;  // "192.0.2.1:53", "[2001:db8::1]:53"
};

// "192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:53".
Result<Upstream> ParseUpstream(std::string_view text);
// The name servers of a resolv.conf; lines that name none are passed over, as the C library does.
std::vector<Upstream> UpstreamsOf(std::string_view resolv_conf);

}  // namespace flyball::dns
