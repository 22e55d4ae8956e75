// Bearer tokens: any text is a token or not; only what we signed verifies; what we sign is read back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/json.h"
#include "net/tls/pki.h"

namespace {

using namespace flyball::net;  // NOLINT(google-build-using-namespace)

const std::string& PrivateKey() {
  static const std::string key = *MakePrivateKey(KeyType::kEcdsaP256);
  return key;
}

const std::string& PublicKey() {
  static const std::string key = *PublicKeyPem(PrivateKey());
  return key;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto jws = DecodeJws(text)) {
    if (const auto claims = flyball::json::Parse(jws->payload_json)) (void)(*claims)["iss"].string_or("");
    if (VerifyJws(text, PublicKey())) std::abort();
  }
  static int runs = 0;
  if (++runs % 16 != 0) return 0;  // signing is slow
  const auto token = SignJws(R"({"alg":"ES256"})", text, PrivateKey());
  if (!token || !VerifyJws(*token, PublicKey())) std::abort();
  const auto back = DecodeJws(*token);
  if (!back || back->payload_json != text) std::abort();
  // A byte that changed: the signature does not hold.
  std::string changed = *token;
  const std::size_t at = size % changed.size();
  changed[at] = changed[at] == 'A' ? 'B' : 'A';
  if (changed != *token && changed.find('.') != std::string::npos && VerifyJws(changed, PublicKey()) &&
      at + 1 < changed.size())
    std::abort();
  return 0;
}
