// IP addresses and CIDR blocks as Kubernetes reads them: sloppily, with leading zeros in dotted decimals
// allowed. Values; thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flyball::api {

struct IpAddress {
  bool is_v4 = false;                       // also for ::ffff:a.b.c.d
  std::array<std::uint8_t, 16> bytes = {};  // v4 as ::ffff:a.b.c.d

  bool IsLoopback() const;
  bool IsUnspecified() const;
  bool IsLinkLocalUnicast() const;
  bool IsLinkLocalMulticast() const;
  // Neither unspecified, broadcast, loopback, multicast nor link-local (Go's net.IP.IsGlobalUnicast; private
  // addresses are global in this sense).
  bool IsGlobalUnicast() const;
  // As RFC 5952 and Go's net.IP write it.
  std::string ToString() const;
  bool operator==(const IpAddress&) const = default;
};

struct Cidr {
  IpAddress address;  // as given: host bits may be set
  int prefix = 0;     // bits, counted within the family (0..32 or 0..128)

  IpAddress Network() const;  // host bits cleared
  bool Contains(const IpAddress& ip) const;
};

std::optional<IpAddress> ParseIp(std::string_view text);
std::optional<Cidr> ParseCidr(std::string_view text);

}  // namespace flyball::api
