// Sealing: encryption of data at rest, in the layouts Kubernetes stores (upstream: storage/value/encrypt).
// OpenSSL and libsodium do the work; their headers stay in sealing.cc.
//
// Each Seal draws a fresh random nonce and puts it in front of what it returns. Open fails with a plain
// message, which never contains data or key, if the sealed text is too short, was changed, or was sealed with
// another key. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::crypto {

// AES-GCM with a key of 16, 24 or 32 bytes: nonce of 12 bytes, ciphertext, tag of 16. `context` is
// authenticated but not stored: whoever opens must give the same.
Result<std::string> SealAesGcm(std::string_view key, std::string_view plain, std::string_view context);
Result<std::string> OpenAesGcm(std::string_view key, std::string_view sealed, std::string_view context);

// AES-GCM with a key of its own for each sealed text, derived from a seed of 32 bytes or more (HKDF-Expand
// with SHA-256; upstream: extended nonce GCM): 32 random bytes the key is derived with, then as SealAesGcm.
Result<std::string> SealSeededGcm(std::string_view seed, std::string_view plain, std::string_view context);
Result<std::string> OpenSeededGcm(std::string_view seed, std::string_view sealed, std::string_view context);

// AES-CBC with PKCS#7 padding: initialisation vector of 16 bytes, ciphertext. It does not notice every
// change of the sealed text.
Result<std::string> SealAesCbc(std::string_view key, std::string_view plain);
Result<std::string> OpenAesCbc(std::string_view key, std::string_view sealed);

// NaCl's secretbox (XSalsa20 and Poly1305) with a key of 32 bytes: nonce of 24 bytes, tag of 16, ciphertext.
Result<std::string> SealSecretbox(std::string_view key, std::string_view plain);
Result<std::string> OpenSecretbox(std::string_view key, std::string_view sealed);

// A key of 32 bytes from a passphrase (scrypt, N = 2^15, r = 8, p = 1: about a tenth of a second).
Result<std::string> KeyFromPassphrase(std::string_view passphrase, std::string_view salt);

// n bytes fit for keys.
Result<std::string> RandomKey(std::size_t n);

}  // namespace flyball::crypto
