// MD5 (RFC 1321), for orders and names that other programs derive with it. Not for anything secret.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace flyball {

using Md5Digest = std::array<std::uint8_t, 16>;
Md5Digest Md5(std::string_view bytes);

}  // namespace flyball
