#include "api/values/ip_address.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace flyball::api {
namespace {

constexpr std::size_t kV4Offset = 12;

// A number of at most `max`, in digits only; leading zeros are taken as Kubernetes takes them.
std::optional<int> ParseNumber(std::string_view text, int max) {
  constexpr std::size_t kMaxDigits = 9;
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  int number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size() || text[0] == '-' || number > max)
    return std::nullopt;
  return number;
}

bool ParseV4(std::string_view text, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const auto number = ParseNumber(text.substr(0, dot), 255);
    if (!number) return false;
    out[i] = static_cast<std::uint8_t>(*number);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return text.empty();
}

bool ParseGroup(std::string_view text, std::uint16_t& group) {
  if (text.empty() || text.size() > 4) return false;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), group, 16);
  return ec == std::errc{} && end == text.data() + text.size();
}

// The groups of one side of "::"; the last may be a dotted decimal. Returns how many bytes were written, or
// -1.
int ParseGroups(std::string_view text, std::array<std::uint8_t, 16>& out) {
  std::size_t at = 0;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (colon == std::string_view::npos && part.find('.') != std::string_view::npos) {
      if (at > kV4Offset || !ParseV4(part, &out[at])) return -1;
      return static_cast<int>(at + 4);
    }
    std::uint16_t group = 0;
    if (at + 2 > out.size() || !ParseGroup(part, group)) return -1;
    out[at++] = static_cast<std::uint8_t>(group >> 8);
    out[at++] = static_cast<std::uint8_t>(group & 0xFF);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
    if (text.empty()) return -1;
  }
  return static_cast<int>(at);
}

bool ParseV6(std::string_view text, std::array<std::uint8_t, 16>& out) {
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return ParseGroups(text, out) == 16;
  std::array<std::uint8_t, 16> head = {}, tail = {};
  const std::string_view after = text.substr(gap + 2);
  const int head_size = ParseGroups(text.substr(0, gap), head);
  const int tail_size = ParseGroups(after, tail);
  if (head_size < 0 || tail_size < 0 || head_size + tail_size > 14) return false;
  out = head;
  std::copy_n(tail.begin(), tail_size, out.begin() + (16 - tail_size));
  return true;
}

bool IsMapped(const std::array<std::uint8_t, 16>& bytes) {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         bytes[10] == 0xFF && bytes[11] == 0xFF;
}

std::string V6Text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<unsigned, 8> groups;
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  std::size_t best = 0, best_length = 1;  // the longest run of at least two zero groups
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > best_length) std::tie(best, best_length) = std::pair(i, length);
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (best_length > 1 && i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::array<char, 4> hex;
    const auto [end, ec] = std::to_chars(hex.data(), hex.data() + hex.size(), groups[i], 16);
    text.append(hex.data(), end);
  }
  return text;
}

}  // namespace

bool IpAddress::IsLoopback() const {
  if (is_v4) return bytes[kV4Offset] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t b) { return b == 0; });
}

bool IpAddress::IsUnspecified() const {
  const auto begin = bytes.begin() + (is_v4 ? static_cast<int>(kV4Offset) : 0);
  return std::all_of(begin, bytes.end(), [](std::uint8_t b) { return b == 0; });
}

bool IpAddress::IsLinkLocalUnicast() const {
  if (is_v4) return bytes[12] == 169 && bytes[13] == 254;
  return bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
}

bool IpAddress::IsLinkLocalMulticast() const {
  if (is_v4) return bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0;
  return bytes[0] == 0xFF && (bytes[1] & 0x0F) == 0x02;
}

bool IpAddress::IsGlobalUnicast() const {
  const bool multicast = is_v4 ? (bytes[12] & 0xF0) == 0xE0 : bytes[0] == 0xFF;
  const bool broadcast =
      is_v4 && std::all_of(bytes.begin() + kV4Offset, bytes.end(), [](std::uint8_t b) { return b == 0xFF; });
  return !multicast && !broadcast && !IsUnspecified() && !IsLoopback() && !IsLinkLocalUnicast();
}

std::string IpAddress::ToString() const {
  if (!is_v4) return V6Text(bytes);
  std::string text;
  for (std::size_t i = kV4Offset; i < bytes.size(); ++i)
    text += (text.empty() ? "" : ".") + std::to_string(bytes[i]);
  return text;
}

IpAddress Cidr::Network() const {
  IpAddress network = address;
  const int first_bit = address.is_v4 ? 96 : 0;
  for (int bit = first_bit + prefix; bit < 128; ++bit) {
    network.bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80 >> bit % 8));
  }
  return network;
}

bool Cidr::Contains(const IpAddress& ip) const {
  return ip.is_v4 == address.is_v4 && Cidr{ip, prefix}.Network() == Network();
}

std::optional<IpAddress> ParseIp(std::string_view text) {
  IpAddress ip;
  if (text.find(':') == std::string_view::npos) {
    ip.is_v4 = true;
    ip.bytes[10] = ip.bytes[11] = 0xFF;
    return ParseV4(text, &ip.bytes[kV4Offset]) ? std::optional(ip) : std::nullopt;
  }
  if (!ParseV6(text, ip.bytes)) return std::nullopt;
  ip.is_v4 = IsMapped(ip.bytes);
  return ip;
}

std::optional<Cidr> ParseCidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = ParseIp(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto prefix = ParseNumber(text.substr(slash + 1), address->is_v4 ? 32 : 128);
  if (!prefix) return std::nullopt;
  return Cidr{*address, *prefix};
}

}  // namespace flyball::api
