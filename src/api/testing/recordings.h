// For tests only: recordings of what the real Kubernetes answers, kept outside the project. They are looked
// for in $FLYBALL_SHARED, else beside the source tree; a test without them is skipped.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "json/json.h"
#include "shared_folder/shared_folder.h"

namespace flyball::api {

// The parsed file, e.g. of "golden/cases/9-values.json"; nothing if there is no such file.
inline std::optional<json::Value> ReadRecording(const std::string& file) {
  std::ifstream stream(SharedFolder() + "/" + file, std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  Result<json::Value> parsed = json::Parse(text);
  if (!parsed) ADD_FAILURE() << file << ": " << parsed.error().message();
  return parsed ? std::optional<json::Value>(std::move(*parsed)) : std::nullopt;
}

#define FLYBALL_REQUIRE_RECORDING(variable, file)                                             \
  const std::optional<::flyball::json::Value> variable = ::flyball::api::ReadRecording(file); \
  if (!variable) GTEST_SKIP() << "no recording " << (file) << ": set FLYBALL_SHARED"

}  // namespace flyball::api
