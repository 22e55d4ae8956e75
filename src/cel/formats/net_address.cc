#include "cel/formats/net_address.h"

#include <algorithm>
#include <charconv>

#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

// Go's ParseAddr: the parts of its messages.
struct AddrProblem {
  std::string message;
  std::string_view at;

  std::string ToString(std::string_view text) const {
    std::string out = "ParseAddr(" + QuoteGo(text) + "): " + message;
    if (!at.empty()) out += " (at " + QuoteGo(at) + ")";
    return out;
  }
};

bool IsAddrDigit(char c) {
  return c >= '0' && c <= '9';
}

// Four octets of `text` into `bytes`.
std::optional<AddrProblem> ParseOctets(std::string_view text, std::uint8_t* bytes) {
  int octet = 0, position = 0;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsAddrDigit(c)) {
      if (digits == 1 && octet == 0) return AddrProblem{"IPv4 field has octet with leading zero", {}};
      octet = octet * 10 + (c - '0');
      ++digits;
      if (octet > 255) return AddrProblem{"IPv4 field has value >255", {}};
    } else if (c == '.') {
      if (i == 0 || i == text.size() - 1 || text[i - 1] == '.')
        return AddrProblem{"IPv4 field must have at least one digit", text.substr(i)};
      if (position == 3) return AddrProblem{"IPv4 address too long", {}};
      bytes[position++] = static_cast<std::uint8_t>(octet);
      octet = 0;
      digits = 0;
    } else {
      return AddrProblem{"unexpected character", text.substr(i)};
    }
  }
  if (position < 3) return AddrProblem{"IPv4 address too short", {}};
  bytes[3] = static_cast<std::uint8_t>(octet);
  return std::nullopt;
}

int HexDigit(char c) {
  if (IsAddrDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<AddrProblem> ParseV6(std::string_view text, IpAddr& ip) {
  std::string_view s = text;
  if (const std::size_t percent = s.find('%'); percent != std::string_view::npos) {
    if (percent + 1 == s.size()) return AddrProblem{"zone must be a non-empty string", {}};
    ip.has_zone = true;
    s = s.substr(0, percent);
  }
  int ellipsis = -1, i = 0;
  if (s.starts_with("::")) {
    ellipsis = 0;
    s.remove_prefix(2);
    if (s.empty()) return std::nullopt;
  }
  while (i < 16) {
    std::size_t digits = 0;
    std::uint32_t group = 0;
    for (; digits < s.size(); ++digits) {
      const int digit = HexDigit(s[digits]);
      if (digit < 0) break;
      group = group << 4 | static_cast<std::uint32_t>(digit);
      if (digits > 3) return AddrProblem{"each group must have 4 or less digits", s};
    }
    if (digits == 0) return AddrProblem{"each colon-separated field must have at least one digit", s};
    if (digits < s.size() && s[digits] == '.') {
      if (ellipsis < 0 && i != 12)
        return AddrProblem{"embedded IPv4 address must replace the final 2 fields of the address", s};
      if (i + 4 > 16)
        return AddrProblem{"too many hex fields to fit an embedded IPv4 at the end of the address", s};
      std::uint8_t octets[4];
      if (auto problem = ParseOctets(s, octets)) {
        if (problem->at.empty()) problem->at = s;
        return problem;
      }
      std::copy(octets, octets + 4, ip.bytes.begin() + i);
      i += 4;
      s = {};
      break;
    }
    ip.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(group >> 8);
    ip.bytes[static_cast<std::size_t>(i + 1)] = static_cast<std::uint8_t>(group);
    i += 2;
    s.remove_prefix(digits);
    if (s.empty()) break;
    if (s[0] != ':') return AddrProblem{"unexpected character, want colon", s};
    if (s.size() == 1) return AddrProblem{"colon must be followed by more characters", s};
    s.remove_prefix(1);
    if (s[0] == ':') {
      if (ellipsis >= 0) return AddrProblem{"multiple :: in address", s};
      ellipsis = i;
      s.remove_prefix(1);
      if (s.empty()) break;
    }
  }
  if (!s.empty()) return AddrProblem{"trailing garbage after address", s};
  if (i < 16) {
    if (ellipsis < 0) return AddrProblem{"address string too short", {}};
    std::copy_backward(ip.bytes.begin() + ellipsis, ip.bytes.begin() + i, ip.bytes.end());
    std::fill(ip.bytes.begin() + ellipsis, ip.bytes.begin() + ellipsis + (16 - i), 0);
  } else if (ellipsis >= 0) {
    return AddrProblem{"the :: must expand to at least one field of zeros", {}};
  }
  return std::nullopt;
}

std::optional<AddrProblem> ParseAddr(std::string_view text, IpAddr& ip) {
  for (char c : text) {
    if (c == '.') {
      ip.v4 = true;
      return ParseOctets(text, ip.bytes.data());
    }
    if (c == ':') return ParseV6(text, ip);
    if (c == '%') return AddrProblem{"missing IPv6 address", {}};
  }
  return AddrProblem{"unable to parse IP", {}};
}

bool SameBits(const IpAddr& a, const IpAddr& b, int bits) {
  for (int i = 0; i < bits; i += 8) {
    const int left = std::min(bits - i, 8);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
    const auto at = static_cast<std::size_t>(i / 8);
    if ((a.bytes[at] & mask) != (b.bytes[at] & mask)) return false;
  }
  return true;
}

}  // namespace

bool IpAddr::IsMapped() const {
  return !v4 && std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}
bool IpAddr::IsUnspecified() const {
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(ByteCount()),
                     [](auto b) { return b == 0; });
}
bool IpAddr::IsLoopback() const {
  if (v4) return bytes[0] == 127;
  return std::all_of(bytes.begin(), bytes.begin() + 15, [](auto b) { return b == 0; }) && bytes[15] == 1;
}
bool IpAddr::IsMulticast() const {
  return v4 ? (bytes[0] & 0xf0) == 0xe0 : bytes[0] == 0xff;
}
bool IpAddr::IsLinkLocalMulticast() const {
  if (v4) return bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0;
  return bytes[0] == 0xff && (bytes[1] & 0x0f) == 0x02;
}
bool IpAddr::IsLinkLocalUnicast() const {
  if (v4) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}
bool IpAddr::IsGlobalUnicast() const {
  const bool broadcast = v4 && std::all_of(bytes.begin(), bytes.begin() + 4, [](auto b) { return b == 255; });
  return !broadcast && !IsUnspecified() && !IsLoopback() && !IsMulticast() && !IsLinkLocalUnicast();
}

std::string IpAddr::ToString() const {
  std::string out;
  if (v4) {
    for (std::size_t i = 0; i < 4; ++i) out += (i ? "." : "") + std::to_string(bytes[i]);
    return out;
  }
  std::array<unsigned, 8> groups;
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  // The longest run of at least two zero groups is written "::".
  std::size_t start = 8, length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > length && end - i >= 2) {
      start = i;
      length = end - i;
    }
    i = end > i ? end - 1 : i;
  }
  char hex[8];
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == start) {
      out += "::";
      i += length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    const auto result = std::to_chars(hex, hex + sizeof hex, groups[i], 16);
    out.append(hex, result.ptr);
  }
  return out;
}

IpPrefix IpPrefix::Masked() const {
  IpPrefix masked = *this;
  for (int i = 0; i < static_cast<int>(address.ByteCount()) * 8; i += 8) {
    const int left = std::clamp(bits - i, 0, 8);
    masked.address.bytes[static_cast<std::size_t>(i / 8)] &= static_cast<std::uint8_t>(0xff << (8 - left));
  }
  return masked;
}
bool IpPrefix::Contains(const IpAddr& ip) const {
  return ip.v4 == address.v4 && SameBits(ip, address, bits);
}
bool IpPrefix::Overlaps(const IpPrefix& other) const {
  return address.v4 == other.address.v4 && SameBits(address, other.address, std::min(bits, other.bits));
}
std::string IpPrefix::ToString() const {
  return address.ToString() + "/" + std::to_string(bits);
}

std::optional<IpAddr> ParseIpAddr(std::string_view text, std::string* problem) {
  IpAddr ip;
  if (const auto wrong = ParseAddr(text, ip)) {
    *problem = "IP Address " + QuoteGo(text) +
               " parse error during conversion from string: " + wrong->ToString(text);
    return std::nullopt;
  }
  if (ip.has_zone) {
    *problem = "IP address " + QuoteGo(text) + " with zone value is not allowed";
    return std::nullopt;
  }
  if (ip.IsMapped()) {
    *problem = "IPv4-mapped IPv6 address " + QuoteGo(text) + " is not allowed";
    return std::nullopt;
  }
  return ip;
}

std::optional<IpPrefix> ParseIpPrefix(std::string_view text, std::string* problem) {
  const auto fail = [&](std::string message) {
    *problem = "network address parse error during conversion from string: netip.ParsePrefix(" +
               QuoteGo(text) + "): " + std::move(message);
    return std::nullopt;
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return fail("no '/'");
  IpPrefix prefix;
  const std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  if (const auto wrong = ParseAddr(address, prefix.address)) return fail(wrong->ToString(address));
  if (prefix.address.has_zone) return fail("IPv6 zones cannot be present in a prefix");
  const auto bad_bits = [&] { return fail("bad bits after slash: " + QuoteGo(bits)); };
  if (bits.size() > 1 && (bits[0] < '1' || bits[0] > '9')) return bad_bits();
  if (bits.empty() || bits.size() > 9 || !std::all_of(bits.begin(), bits.end(), IsAddrDigit))
    return bad_bits();
  for (char c : bits) prefix.bits = prefix.bits * 10 + (c - '0');
  if (prefix.bits > static_cast<int>(prefix.address.ByteCount()) * 8)
    return fail("prefix length out of range");
  if (prefix.address.IsMapped()) {
    *problem = "IPv4-mapped IPv6 address " + QuoteGo(text) + " is not allowed";
    return std::nullopt;
  }
  return prefix;
}

}  // namespace flyball::cel
