// Hashes, hexadecimal, base64, random bytes: the small functions of pki.h.
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "base/observe/log.h"
#include "net/tls/pki.h"

namespace flyball::net {

namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kInvalid = 0xff;

constexpr std::array<std::uint8_t, 256> Inverse(std::string_view alphabet) {
  std::array<std::uint8_t, 256> table{};
  table.fill(kInvalid);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return table;
}
constexpr auto kStandardInverse = Inverse(kStandard);
constexpr auto kUrlInverse = Inverse(kUrl);

std::uint32_t Octet(std::string_view s, std::size_t i) {
  return static_cast<unsigned char>(s[i]);
}

std::string Encode(std::string_view data, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  std::size_t i = 0;
  for (; i + 3 <= data.size(); i += 3) {
    const std::uint32_t v = Octet(data, i) << 16 | Octet(data, i + 1) << 8 | Octet(data, i + 2);
    out.append({alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]});
  }
  const std::size_t rest = data.size() - i;
  if (rest == 0) return out;
  const std::uint32_t v = Octet(data, i) << 16 | (rest == 2 ? Octet(data, i + 1) << 8 : 0);
  out += alphabet[v >> 18];
  out += alphabet[v >> 12 & 63];
  if (rest == 2) out += alphabet[v >> 6 & 63];
  if (pad) out.append(3 - rest, '=');
  return out;
}

Result<std::string> Corrupt(std::size_t at) {
  return Unexpected(BadRequest("illegal base64 data at input byte " + std::to_string(at)));
}

// Decodes text without padding. Line breaks are skipped if `lines`, as Go's decoder does.
Result<std::string> Decode(std::string_view text, const std::array<std::uint8_t, 256>& inverse, bool lines,
                           std::size_t* digits) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  *digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lines && (text[i] == '\n' || text[i] == '\r')) continue;
    const std::uint8_t value = inverse[static_cast<unsigned char>(text[i])];
    if (value == kInvalid) return Corrupt(i);
    bits = bits << 6 | value;
    if (++*digits % 4 != 0) continue;
    out.append({static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)});
    bits = 0;
  }
  switch (*digits % 4) {
    case 1:
      return Corrupt(text.size() - 1);
    case 2:
      out += static_cast<char>(bits >> 4);
      break;
    case 3:
      out.append({static_cast<char>(bits >> 10), static_cast<char>(bits >> 2)});
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

std::string Sha256(std::string_view data) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string HmacSha256(std::string_view key, std::string_view data) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(data.data()), data.size(),
       reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

std::string Sha512(std::string_view data) {
  std::string out(SHA512_DIGEST_LENGTH, '\0');
  SHA512(reinterpret_cast<const unsigned char*>(data.data()), data.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string HexEncode(std::string_view data) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(data.size() * 2);
  for (const char c : data) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string Base64Encode(std::string_view data) {
  return Encode(data, kStandard, true);
}

std::string Base64UrlEncode(std::string_view data) {
  return Encode(data, kUrl, false);
}

Result<std::string> Base64Decode(std::string_view text) {
  std::string_view digits_only = text;
  std::size_t padding = 0, digits = 0;
  while (!digits_only.empty()) {
    const char last = digits_only.back();
    if (last != '=' && last != '\n' && last != '\r') break;
    padding += last == '=';
    digits_only.remove_suffix(1);
  }
  auto out = Decode(digits_only, kStandardInverse, true, &digits);
  if (out && (padding > 2 || (digits + padding) % 4 != 0)) return Corrupt(text.size());
  return out;
}

Result<std::string> Base64UrlDecode(std::string_view text) {
  std::size_t digits = 0;
  return Decode(text, kUrlInverse, false, &digits);
}

std::string RandomBytes(std::size_t n) {
  std::string out(n, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(n)) != 1) {
    log::Error("no random numbers from OpenSSL");
    std::abort();  // keys made without chance would be worse than no program
  }
  return out;
}

bool ConstantTimeEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace flyball::net
