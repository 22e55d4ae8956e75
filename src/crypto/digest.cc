#include "crypto/digest.h"

#include <openssl/evp.h>

namespace flyball::crypto {

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* const context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view data) {
  EVP_DigestUpdate(state_->context, data.data(), data.size());
}

std::string Sha256::Finish() {
  std::string out(32, '\0');
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

}  // namespace flyball::crypto
