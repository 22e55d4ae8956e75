// A ValueTransformer for tests: values under a prefix are stored backwards, after "enc:".
#pragma once

#include <string>

#include "store/transform/value_transformer.h"

namespace flyball::store {

// Thread-safe: immutable.
class ReversingTransformer final : public ValueTransformer {
 public:
  explicit ReversingTransformer(std::string prefix) : prefix_(std::move(prefix)) {}

  Result<Bytes> ToStorage(std::string_view key, const Bytes& value) const override {
    if (!key.starts_with(prefix_)) return value;
    if (*value == "refused") return Unexpected(InternalError("not this one"));
    return MakeBytes("enc:" + std::string(value->rbegin(), value->rend()));
  }
  Result<Bytes> FromStorage(std::string_view, const Bytes& stored) const override {
    if (!IsTransformed(*stored)) return stored;
    if (*stored == "enc:broken") return Unexpected(InternalError("cannot be read"));
    return MakeBytes(std::string(stored->rbegin(), stored->rend() - 4));
  }
  bool IsTransformed(std::string_view stored) const override { return stored.starts_with("enc:"); }
  bool IsStale(std::string_view key, std::string_view stored) const override {
    return key.starts_with(prefix_) != IsTransformed(stored);
  }

 private:
  const std::string prefix_;
};

}  // namespace flyball::store
