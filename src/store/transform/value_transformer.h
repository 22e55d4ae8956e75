// ValueTransformer: what is done to values on their way to and from the disk; encryption, above all
// (upstream: storage/value.Transformer).
#pragma once

#include <string_view>

#include "base/values/bytes.h"
#include "base/values/result.h"

namespace flyball::store {

// Thread-safe.
class ValueTransformer {
 public:
  virtual ~ValueTransformer() = default;

  // What to store for the value under this key; the very same Bytes if it is stored as it is.
  virtual Result<Bytes> ToStorage(std::string_view key, const Bytes& value) const = 0;
  // The value that ToStorage was given; the very same Bytes if it was stored as it is. An error says why it
  // cannot be had.
  virtual Result<Bytes> FromStorage(std::string_view key, const Bytes& stored) const = 0;
  // Whether stored bytes may be something else than the value itself. Cheap.
  virtual bool IsTransformed(std::string_view stored) const = 0;
  // True: ToStorage would store the same value in another way now (another key, or encrypted at last).
  virtual bool IsStale(std::string_view key, std::string_view stored) const = 0;
};

}  // namespace flyball::store
