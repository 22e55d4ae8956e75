// Iterates over lists that may be absent.
#pragma once

#include "json/value.h"

namespace flyball::cli {

// The elements of an array; empty for anything else.
inline const json::Array& Elements(const json::Value& value) {
  static const json::Array kNone;
  return value.is_array() ? value.as_array() : kNone;
}

}  // namespace flyball::cli
