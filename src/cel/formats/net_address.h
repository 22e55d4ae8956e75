// IP addresses and prefixes as Go's net/netip reads and writes them: strictly. Values; thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flyball::cel {

struct IpAddr {
  bool v4 = false;
  std::array<std::uint8_t, 16> bytes = {};  // an IPv4 address is in the first four
  bool has_zone = false;

  std::size_t ByteCount() const { return v4 ? 4 : 16; }
  bool IsMapped() const;  // ::ffff:a.b.c.d
  bool IsUnspecified() const;
  bool IsLoopback() const;
  bool IsMulticast() const;
  bool IsLinkLocalMulticast() const;
  bool IsLinkLocalUnicast() const;
  bool IsGlobalUnicast() const;
  std::string ToString() const;
  bool operator==(const IpAddr&) const = default;
};

struct IpPrefix {
  IpAddr address;
  int bits = 0;

  IpPrefix Masked() const;
  bool Contains(const IpAddr& ip) const;
  bool Overlaps(const IpPrefix& other) const;
  std::string ToString() const;
  bool operator==(const IpPrefix&) const = default;
};

// `problem` gets what Kubernetes' libraries say.
std::optional<IpAddr> ParseIpAddr(std::string_view text, std::string* problem);
std::optional<IpPrefix> ParseIpPrefix(std::string_view text, std::string* problem);

}  // namespace flyball::cel
