// Problem: what a rule says is wrong, with all that a field error needs (upstream: field.Error). A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::cel {

struct Problem {
  enum class Kind : std::uint8_t { kInvalid, kForbidden, kRequired, kDuplicate, kNotSupported, kInternal };
  Kind kind = Kind::kInvalid;
  std::string path;  // "spec.replicas"; empty for the root
  bool shows_value = true;
  json::Value value;
  std::string detail;
  std::vector<std::string> supported;  // of kNotSupported
};

// "spec", "spec.items[0]", "labels[app]".
std::string ChildPath(const std::string& path, std::string_view name);
std::string IndexPath(const std::string& path, std::size_t index);
std::string KeyPath(const std::string& path, std::string_view key);

}  // namespace flyball::cel
