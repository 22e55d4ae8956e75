#include "server/services/port_bitmap.h"

#include <algorithm>
#include <charconv>

namespace flyball::server {

std::string PortRange::ToString() const {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

Result<PortRange> ParsePortRange(std::string_view text) {
  PortRange range;
  const auto dash = text.find('-');
  const auto number = [](std::string_view part, int& out) {
    const auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), out);
    return ec == std::errc() && end == part.data() + part.size();
  };
  if (dash == std::string_view::npos || !number(text.substr(0, dash), range.first) ||
      !number(text.substr(dash + 1), range.last) || range.first > range.last || range.first < 0 ||
      range.last > 65535)
    return Unexpected(
        BadRequest("--service-node-port-range: want FIRST-LAST, got \"" + std::string(text) + "\""));
  return range;
}

PortBitmap PortBitmap::FromBytes(PortRange range, std::string_view bytes) {
  PortBitmap bitmap(range);
  for (std::size_t bit = 0; bit < bitmap.used_.size() && bit / 8 < bytes.size(); ++bit) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - 1 - bit / 8]);
    bitmap.used_[bit] = (byte >> (bit % 8) & 1) != 0;
  }
  return bitmap;
}

std::string PortBitmap::ToBytes() const {
  std::string bytes((used_.size() + 7) / 8, '\0');
  for (std::size_t bit = 0; bit < used_.size(); ++bit) {
    char& byte = bytes[bytes.size() - 1 - bit / 8];
    if (used_[bit]) byte = static_cast<char>(static_cast<unsigned char>(byte) | (1u << (bit % 8)));
  }
  return bytes.substr(std::min(bytes.find_first_not_of('\0'), bytes.size()));
}

bool PortBitmap::Take(int port) {
  if (used_[Index(port)]) return false;
  used_[Index(port)] = true;
  return true;
}

void PortBitmap::Release(int port) {
  if (range_.Contains(port)) used_[Index(port)] = false;
}

int PortBitmap::used_count() const {
  return static_cast<int>(std::count(used_.begin(), used_.end(), true));
}

}  // namespace flyball::server
