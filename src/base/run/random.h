// Random: the only source of random numbers. A seeded one replays exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/run/mutex.h"

namespace flyball {

// xoshiro256**: fast, and good enough for names, jitter and simulation. Not for keys; those come from OpenSSL
// in `net`. Thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  // Seeded from the operating system. Never destroyed.
  static Random& System();

  std::uint64_t Next();
  // Uniform in [0, bound). Requires bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  // Uniform in [0, 1).
  double Unit();
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

  // A version 4 UUID, as in metadata.uid.
  std::string Uuid();
  // Returns n characters of the alphabet that Kubernetes uses for generated names (no vowels, no
  // look-alikes).
  std::string NameSuffix(int n = 5);

 private:
  std::uint64_t NextLocked() FLYBALL_REQUIRES(mu_);
  Mutex mu_;
  std::uint64_t s_[4] FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
