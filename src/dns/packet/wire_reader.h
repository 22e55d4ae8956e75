// WireReader: reads numbers, bytes and names of one packet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dns/packet/name.h"

namespace flyball::dns {

// Thread-compatible. Every method is false, and the reader of no more use, if the packet has too little or is
// wrong.
class WireReader {
 public:
  WireReader(std::string_view packet, std::size_t at) : packet_(packet), at_(at) {}

  bool Read8(std::uint8_t& value);
  bool Read16(std::uint16_t& value);
  bool Read32(std::uint32_t& value);
  bool ReadBytes(std::size_t size, std::string_view& bytes);
  // Follows compression pointers, each of which must point before where the name and all earlier pointers of
  // it began.
  bool ReadName(Name& name);
  // Appends the name's uncompressed wire form.
  bool AppendName(std::string& wire);

  std::size_t at() const { return at_; }
  std::size_t left() const { return packet_.size() - at_; }

 private:
  std::string_view packet_;
  std::size_t at_;
};

}  // namespace flyball::dns
