#include "dns/packet/record_data.h"

#include "dns/packet/message.h"

namespace flyball::dns {
namespace {

constexpr std::size_t kSoaNumbers = 20;

void Append16(std::string& out, std::uint16_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value & 0xff);
}

void Append32(std::string& out, std::uint32_t value) {
  Append16(out, static_cast<std::uint16_t>(value >> 16));
  Append16(out, static_cast<std::uint16_t>(value & 0xffff));
}

}  // namespace

DataLayout LayoutOf(std::uint16_t type) {
  switch (type) {
    case kTypeNs:
    case kTypeCname:
    case kTypePtr:
      return {0, 1, true};
    case kTypeMx:
      return {2, 1, true};
    case kTypeSoa:
      return {0, 2, true};
    case kTypeSrv:
      return {6, 1, false};
    case kTypeDname:
      return {0, 1, false};
    default:
      return {};
  }
}

bool ReadData(std::uint16_t type, WireReader& reader, std::size_t size, std::string& data) {
  if (reader.left() < size) return false;
  const std::size_t end = reader.at() + size;
  const DataLayout layout = LayoutOf(type);
  std::string_view bytes;
  if (!reader.ReadBytes(layout.before, bytes)) return false;
  data = bytes;
  for (int i = 0; i < layout.names; ++i)
    if (!reader.AppendName(data)) return false;
  if (reader.at() > end || !reader.ReadBytes(end - reader.at(), bytes)) return false;
  data += bytes;
  return true;
}

std::string SrvData(std::uint16_t priority, std::uint16_t weight, std::uint16_t port, const Name& target) {
  std::string data;
  Append16(data, priority);
  Append16(data, weight);
  Append16(data, port);
  return data + target.wire();
}

std::string TxtData(std::string_view text) {
  return std::string(1, static_cast<char>(text.size())) + std::string(text);
}

std::string SoaData(const Soa& soa) {
  std::string data = soa.primary.wire() + soa.mailbox.wire();
  for (const std::uint32_t number : {soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum})
    Append32(data, number);
  return data;
}

std::optional<std::uint32_t> SoaMinimum(std::string_view data) {
  WireReader reader(data, 0);
  Name name;
  std::string_view skipped;
  std::uint32_t minimum = 0;
  if (!reader.ReadName(name) || !reader.ReadName(name) || reader.left() != kSoaNumbers ||
      !reader.ReadBytes(kSoaNumbers - sizeof minimum, skipped) || !reader.Read32(minimum))
    return std::nullopt;
  return minimum;
}

std::optional<Name> NameOfData(std::string_view data) {
  WireReader reader(data, 0);
  Name name;
  if (!reader.ReadName(name) || reader.left() != 0) return std::nullopt;
  return name;
}

}  // namespace flyball::dns
