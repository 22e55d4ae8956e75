// How the rooms of kustomize say what is wrong: plain texts, each wrapped in what was being done.
#pragma once

#include <string>
#include <utility>

#include "base/values/result.h"
#include "cli/command/error_text.h"

namespace flyball::cli::kustomize {

inline Unexpected Fail(std::string message) {
  return Unexpected(LocalError(std::move(message)));
}
// "prefix: what was wrong"
inline Unexpected Wrap(const std::string& prefix, const Error& error) {
  return Fail(prefix + ": " + error.message());
}

}  // namespace flyball::cli::kustomize
