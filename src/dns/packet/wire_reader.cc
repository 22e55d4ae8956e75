#include "dns/packet/wire_reader.h"

namespace flyball::dns {
namespace {

constexpr unsigned kPointerBits = 0xc0;

}  // namespace

bool WireReader::Read8(std::uint8_t& value) {
  if (left() < 1) return false;
  value = static_cast<std::uint8_t>(packet_[at_++]);
  return true;
}

bool WireReader::Read16(std::uint16_t& value) {
  std::uint8_t high = 0, low = 0;
  if (!Read8(high) || !Read8(low)) return false;
  value = static_cast<std::uint16_t>(high << 8 | low);
  return true;
}

bool WireReader::Read32(std::uint32_t& value) {
  std::uint16_t high = 0, low = 0;
  if (!Read16(high) || !Read16(low)) return false;
  value = static_cast<std::uint32_t>(high) << 16 | low;
  return true;
}

bool WireReader::ReadBytes(std::size_t size, std::string_view& bytes) {
  if (left() < size) return false;
  bytes = packet_.substr(at_, size);
  at_ += size;
  return true;
}

bool WireReader::AppendName(std::string& wire) {
  const std::size_t begin = wire.size();
  std::size_t at = at_;
  std::size_t earliest = at_;  // a pointer has to go before this
  bool jumped = false;
  for (;;) {
    if (at >= packet_.size()) return false;
    const auto size = static_cast<unsigned char>(packet_[at]);
    if ((size & kPointerBits) == kPointerBits) {
      if (at + 2 > packet_.size()) return false;
      const std::size_t target = (size & ~kPointerBits) << 8 | static_cast<unsigned char>(packet_[at + 1]);
      if (!jumped) at_ = at + 2;
      jumped = true;
      if (target >= earliest) return false;
      at = earliest = target;
      continue;
    }
    if (size > kMaxLabelBytes || at + 1 + size > packet_.size()) return false;
    wire.append(packet_.substr(at, 1 + size));
    if (wire.size() - begin > kMaxNameBytes) return false;
    at += 1 + size;
    if (size == 0) break;
  }
  if (!jumped) at_ = at;
  return true;
}

bool WireReader::ReadName(Name& name) {
  std::string wire;
  if (!AppendName(wire)) return false;
  name = Name::FromWire(std::move(wire));
  return true;
}

}  // namespace flyball::dns
