// Bytes: an immutable, shared sequence of bytes. Each encoded object or event exists once and is shared by
// the store, the watch cache and every connection that sends it.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace flyball {

using Bytes = std::shared_ptr<const std::string>;

inline Bytes MakeBytes(std::string s) {
  return std::make_shared<const std::string>(std::move(s));
}

}  // namespace flyball
