// StoredMediaType: how objects are written into an etcd that kube-apiserver may read too, and read from one
// that it has written (upstream: --storage-media-type).
#pragma once

#include <string_view>

#include "store/transform/value_transformer.h"

namespace flyball::server {

inline constexpr std::string_view kStoredAsProtobuf = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kStoredAsJson = "application/json";

// To the server a value is the object's final JSON. Built-in kinds are stored in the media type that is asked
// for; custom ones, their definitions and APIServices always as JSON, as upstream does it. Both forms are
// read, whatever is written. Immutable: thread-safe.
class StoredMediaType final : public store::ValueTransformer {
 public:
  explicit StoredMediaType(bool protobuf) : protobuf_(protobuf) {}

  Result<Bytes> ToStorage(std::string_view key, const Bytes& value) const override;
  Result<Bytes> FromStorage(std::string_view key, const Bytes& stored) const override;
  bool IsTransformed(std::string_view stored) const override;
  bool IsStale(std::string_view key, std::string_view stored) const override;

 private:
  const bool protobuf_;
};

}  // namespace flyball::server
