#include "base/run/random.h"

#include <random>

namespace flyball {
namespace {

std::uint64_t Rotl(std::uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

std::uint64_t SplitMix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::string_view kHex = "0123456789abcdef";

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : s_) word = SplitMix(seed);
}

Random& Random::System() {
  static Random random([] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }());
  return random;
}

std::uint64_t Random::NextLocked() {
  const std::uint64_t result = Rotl(s_[1] * 5, 7) * 9;
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = Rotl(s_[3], 45);
  return result;
}

std::uint64_t Random::Next() {
  MutexLock lock(mu_);
  return NextLocked();
}

std::uint64_t Random::Below(std::uint64_t bound) {
  // Reject the tail that would favour small values.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    const std::uint64_t x = Next();
    if (x < limit) return x % bound;
  }
}

double Random::Unit() {
  return static_cast<double>(Next() >> 11) * 0x1.0p-53;
}

std::string Random::Uuid() {
  std::uint64_t words[2] = {Next(), Next()};
  words[0] = (words[0] & ~0xf000ULL) | 0x4000ULL;
  words[1] = (words[1] & ~(0x3ULL << 62)) | (0x2ULL << 62);
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    out += kHex[(words[i / 16] >> (60 - 4 * (i % 16))) & 0xf];
  }
  return out;
}

std::string Random::NameSuffix(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += kNameAlphabet[Below(kNameAlphabet.size())];
  return out;
}

}  // namespace flyball
