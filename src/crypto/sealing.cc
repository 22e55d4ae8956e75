#include "crypto/sealing.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sodium.h>

#include <memory>

namespace flyball::crypto {
namespace {

constexpr std::size_t kGcmNonce = 12, kGcmTag = 16, kCbcBlock = 16;
constexpr std::size_t kSeed = 32, kSeedInfo = 32, kSeedKey = 32;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

unsigned char* Octets(std::string& s) {
  return reinterpret_cast<unsigned char*>(s.data());
}
const unsigned char* Octets(std::string_view s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

const EVP_CIPHER* Gcm(std::size_t key_size) {
  if (key_size == 16) return EVP_aes_128_gcm();
  if (key_size == 24) return EVP_aes_192_gcm();
  return key_size == 32 ? EVP_aes_256_gcm() : nullptr;
}

const EVP_CIPHER* Cbc(std::size_t key_size) {
  if (key_size == 16) return EVP_aes_128_cbc();
  if (key_size == 24) return EVP_aes_192_cbc();
  return key_size == 32 ? EVP_aes_256_cbc() : nullptr;
}

Unexpected TooShort() {
  return Unexpected(InternalError("the stored data was shorter than the required size"));
}

Unexpected Failed(const char* what) {
  return Unexpected(InternalError(what));
}

// Runs Update and Final over `input`, appending to `out` from `offset` on. False: it did not work out, or
// what was opened is not what was sealed.
bool Run(EVP_CIPHER_CTX* context, std::string_view input, std::string& out, std::size_t offset,
         std::size_t& written) {
  int n = 0, last = 0;
  if (EVP_CipherUpdate(context, Octets(out) + offset, &n, Octets(input), static_cast<int>(input.size())) != 1)
    return false;
  if (EVP_CipherFinal_ex(context, Octets(out) + offset + n, &last) != 1) return false;
  written = static_cast<std::size_t>(n + last);
  return true;
}

bool AddContext(EVP_CIPHER_CTX* context, std::string_view data) {
  int ignored = 0;
  return data.empty() ||
         EVP_CipherUpdate(context, nullptr, &ignored, Octets(data), static_cast<int>(data.size())) == 1;
}

// HKDF-Expand (RFC 5869) as far as one block of SHA-256 goes, which is as long as an AES-256 key.
Result<std::string> DerivedKey(std::string_view seed, std::string_view info) {
  if (seed.size() < kSeed) return Failed("the seed of derived keys has 32 bytes at least");
  const std::string input = std::string(info) + '\x01';
  std::string key(kSeedKey, '\0');
  unsigned int size = 0;
  if (!HMAC(EVP_sha256(), seed.data(), static_cast<int>(seed.size()), Octets(input), input.size(),
            Octets(key), &size) ||
      size != kSeedKey)
    return Failed("cannot derive a key");
  return key;
}

}  // namespace

Result<std::string> RandomKey(std::size_t n) {
  std::string bytes(n, '\0');
  if (n > 0 && RAND_bytes(Octets(bytes), static_cast<int>(n)) != 1)
    return Failed("unable to read sufficient random bytes");
  return bytes;
}

Result<std::string> SealAesGcm(std::string_view key, std::string_view plain, std::string_view context_data) {
  const EVP_CIPHER* cipher = Gcm(key.size());
  if (!cipher) return Failed("an AES key has 16, 24 or 32 bytes");
  FLYBALL_ASSIGN(std::string out, RandomKey(kGcmNonce));
  out.resize(kGcmNonce + plain.size() + kGcmTag);
  const Context context(EVP_CIPHER_CTX_new());
  std::size_t written = 0;
  if (EVP_CipherInit_ex(context.get(), cipher, nullptr, Octets(key), Octets(out), 1) != 1 ||
      !AddContext(context.get(), context_data) || !Run(context.get(), plain, out, kGcmNonce, written) ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kGcmTag, Octets(out) + kGcmNonce + written) !=
          1)
    return Failed("cannot encrypt with AES-GCM");
  return out;
}

Result<std::string> OpenAesGcm(std::string_view key, std::string_view sealed, std::string_view context_data) {
  const EVP_CIPHER* cipher = Gcm(key.size());
  if (!cipher) return Failed("an AES key has 16, 24 or 32 bytes");
  if (sealed.size() < kGcmNonce + kGcmTag) return TooShort();
  const std::string_view nonce = sealed.substr(0, kGcmNonce);
  const std::string_view body = sealed.substr(kGcmNonce, sealed.size() - kGcmNonce - kGcmTag);
  std::string tag(sealed.substr(sealed.size() - kGcmTag));
  std::string out(body.size() + kGcmTag, '\0');
  const Context context(EVP_CIPHER_CTX_new());
  std::size_t written = 0;
  if (EVP_CipherInit_ex(context.get(), cipher, nullptr, Octets(key), Octets(nonce), 0) != 1 ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kGcmTag, tag.data()) != 1 ||
      !AddContext(context.get(), context_data) || !Run(context.get(), body, out, 0, written))
    return Failed("cipher: message authentication failed");
  out.resize(written);
  return out;
}

Result<std::string> SealSeededGcm(std::string_view seed, std::string_view plain, std::string_view context) {
  FLYBALL_ASSIGN(std::string out, RandomKey(kSeedInfo));
  FLYBALL_ASSIGN(const std::string key, DerivedKey(seed, out));
  FLYBALL_ASSIGN(const std::string sealed, SealAesGcm(key, plain, context));
  return out.append(sealed);
}

Result<std::string> OpenSeededGcm(std::string_view seed, std::string_view sealed, std::string_view context) {
  if (sealed.size() < kSeedInfo) return TooShort();
  FLYBALL_ASSIGN(const std::string key, DerivedKey(seed, sealed.substr(0, kSeedInfo)));
  return OpenAesGcm(key, sealed.substr(kSeedInfo), context);
}

Result<std::string> SealAesCbc(std::string_view key, std::string_view plain) {
  const EVP_CIPHER* cipher = Cbc(key.size());
  if (!cipher) return Failed("an AES key has 16, 24 or 32 bytes");
  FLYBALL_ASSIGN(std::string out, RandomKey(kCbcBlock));
  out.resize(kCbcBlock + plain.size() + kCbcBlock);
  const Context context(EVP_CIPHER_CTX_new());
  std::size_t written = 0;
  if (EVP_CipherInit_ex(context.get(), cipher, nullptr, Octets(key), Octets(out), 1) != 1 ||
      !Run(context.get(), plain, out, kCbcBlock, written))
    return Failed("cannot encrypt with AES-CBC");
  out.resize(kCbcBlock + written);
  return out;
}

Result<std::string> OpenAesCbc(std::string_view key, std::string_view sealed) {
  const EVP_CIPHER* cipher = Cbc(key.size());
  if (!cipher) return Failed("an AES key has 16, 24 or 32 bytes");
  if (sealed.size() < 2 * kCbcBlock) return TooShort();
  if (sealed.size() % kCbcBlock != 0) return Failed("the stored data is not a multiple of the block size");
  const std::string_view body = sealed.substr(kCbcBlock);
  std::string out(body.size() + kCbcBlock, '\0');
  const Context context(EVP_CIPHER_CTX_new());
  std::size_t written = 0;
  if (EVP_CipherInit_ex(context.get(), cipher, nullptr, Octets(key), Octets(sealed), 0) != 1 ||
      !Run(context.get(), body, out, 0, written))
    return Failed("invalid padding on input");
  out.resize(written);
  return out;
}

Result<std::string> SealSecretbox(std::string_view key, std::string_view plain) {
  if (key.size() != crypto_secretbox_KEYBYTES) return Failed("a secretbox key has 32 bytes");
  FLYBALL_ASSIGN(std::string out, RandomKey(crypto_secretbox_NONCEBYTES));
  out.resize(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + plain.size());
  if (crypto_secretbox_easy(Octets(out) + crypto_secretbox_NONCEBYTES, Octets(plain), plain.size(),
                            Octets(out), Octets(key)) != 0)
    return Failed("cannot encrypt with secretbox");
  return out;
}

Result<std::string> OpenSecretbox(std::string_view key, std::string_view sealed) {
  if (key.size() != crypto_secretbox_KEYBYTES) return Failed("a secretbox key has 32 bytes");
  if (sealed.size() < crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES) return TooShort();
  const std::string_view body = sealed.substr(crypto_secretbox_NONCEBYTES);
  std::string out(body.size() - crypto_secretbox_MACBYTES, '\0');
  if (crypto_secretbox_open_easy(Octets(out), Octets(body), body.size(), Octets(sealed), Octets(key)) != 0)
    return Failed("the stored data was not sealed with this secretbox key");
  return out;
}

Result<std::string> KeyFromPassphrase(std::string_view passphrase, std::string_view salt) {
  constexpr std::uint64_t kN = 1 << 15, kR = 8, kP = 1, kMaxMemory = 64 << 20;
  std::string key(32, '\0');
  if (EVP_PBE_scrypt(passphrase.data(), passphrase.size(), Octets(salt), salt.size(), kN, kR, kP, kMaxMemory,
                     Octets(key), key.size()) != 1)
    return Failed("cannot derive a key from the passphrase");
  return key;
}

}  // namespace flyball::crypto
