// Bytes: an immutable, shared run of bytes. One encoded object or event is held once and shared by the store,
// the watch cache and every connection that is sending it.
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
