// Keys of X25519 (RFC 7748), as WireGuard has them.
#pragma once

#include <string>

#include "base/values/result.h"

namespace flyball::crypto {

inline constexpr std::size_t kExchangeKeySize = 32;

// A new private key, 32 bytes.
Result<std::string> NewExchangeKey();
// The public key that belongs to it, 32 bytes. BadRequest if the private one has not 32 bytes.
Result<std::string> PublicExchangeKey(const std::string& private_key);

}  // namespace flyball::crypto
