#include "crypto/key_exchange.h"

#include <openssl/evp.h>

#include <memory>

namespace flyball::crypto {
namespace {

using ExchangeKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

unsigned char* BytesOf(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

Result<std::string> NewExchangeKey() {
  const ExchangeKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"), &EVP_PKEY_free);
  std::string bytes(kExchangeKeySize, '\0');
  std::size_t size = bytes.size();
  if (!key || EVP_PKEY_get_raw_private_key(key.get(), BytesOf(bytes), &size) != 1 || size != bytes.size())
    return Unexpected(InternalError("cannot make a key of X25519"));
  return bytes;
}

Result<std::string> PublicExchangeKey(const std::string& private_key) {
  if (private_key.size() != kExchangeKeySize)
    return Unexpected(BadRequest("a private key of X25519 has 32 bytes"));
  const ExchangeKey key(EVP_PKEY_new_raw_private_key(
                            EVP_PKEY_X25519, nullptr,
                            reinterpret_cast<const unsigned char*>(private_key.data()), private_key.size()),
                        &EVP_PKEY_free);
  std::string bytes(kExchangeKeySize, '\0');
  std::size_t size = bytes.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), BytesOf(bytes), &size) != 1 || size != bytes.size())
    return Unexpected(InternalError("no public key of X25519"));
  return bytes;
}

}  // namespace flyball::crypto
