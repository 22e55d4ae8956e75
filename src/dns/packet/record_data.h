// Which types have names in their data, and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dns/packet/wire_reader.h"

namespace flyball::dns {

// Data begins with `before` bytes, then come `names` names, then bytes to the end. `compressible`: senders
// may compress the names, and so do we (RFC 3597, 4); those of other types are only decompressed.
struct DataLayout {
  std::uint8_t before = 0, names = 0;
  bool compressible = false;
};
DataLayout LayoutOf(std::uint16_t type);

// Reads `size` bytes of a packet as the data of a record. False if they are no such data.
bool ReadData(std::uint16_t type, WireReader& reader, std::size_t size, std::string& data);

}  // namespace flyball::dns
