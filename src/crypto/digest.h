// Digests of data that comes in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace flyball::crypto {

// SHA-256. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Update(std::string_view data);
  // The 32 bytes. Nothing may be added afterwards.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flyball::crypto
