#include "base/values/protobuf_wire.h"

namespace flyball {
namespace {

constexpr std::uint64_t kMaxFieldNumber = (1u << 29) - 1;

}  // namespace

bool WireReader::Fail() {
  ok_ = false;
  rest_ = {};
  return false;
}

bool WireReader::NextField() {
  if (rest_.empty()) return false;
  const std::uint64_t tag = Varint();
  const std::uint64_t type = tag & 7;
  const std::uint64_t number = tag >> 3;
  const bool known_type = type <= 2 || type == 5;
  if (!ok_ || !known_type || number == 0 || number > kMaxFieldNumber) return Fail();
  number_ = static_cast<std::uint32_t>(number);
  type_ = static_cast<WireType>(type);
  return true;
}

std::uint64_t WireReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return Fail();
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return Fail();
}

std::uint64_t WireReader::Fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return Fail();
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return value;
}

std::uint64_t WireReader::Fixed64() {
  return Fixed(8);
}

std::uint32_t WireReader::Fixed32() {
  return static_cast<std::uint32_t>(Fixed(4));
}

std::string_view WireReader::Bytes() {
  const std::uint64_t length = Varint();
  if (!ok_ || length > rest_.size()) {
    Fail();
    return {};
  }
  const std::string_view bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return bytes;
}

void WireReader::Skip() {
  switch (type_) {
    case WireType::kVarint:
      Varint();
      break;
    case WireType::kFixed64:
      Fixed64();
      break;
    case WireType::kFixed32:
      Fixed32();
      break;
    case WireType::kBytes:
      Bytes();
      break;
  }
}

void WireWriter::RawVarint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
  out_ += static_cast<char>(value);
}

void WireWriter::Tag(std::uint32_t number, WireType type) {
  RawVarint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(type));
}

void WireWriter::Varint(std::uint32_t number, std::uint64_t value) {
  Tag(number, WireType::kVarint);
  RawVarint(value);
}

void WireWriter::Fixed64(std::uint32_t number, std::uint64_t value) {
  Tag(number, WireType::kFixed64);
  for (int shift = 0; shift < 64; shift += 8) out_ += static_cast<char>(value >> shift);
}

void WireWriter::Bytes(std::uint32_t number, std::string_view bytes) {
  Tag(number, WireType::kBytes);
  RawVarint(bytes.size());
  out_ += bytes;
}

}  // namespace flyball
