// For tests only: recordings of what the real Kubernetes answers (tests/golden).
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "json/json.h"
#include "test_data/test_data.h"

namespace flyball::api {

// The recording in a folder of tests/golden/VERSION, e.g. "cases/9-values": the lists of its files as one.
inline json::Value ReadRecording(const std::string& folder) {
  json::Array all;
  for (const std::string& text : ReadFolder(GoldenFolder() / folder)) {
    Result<json::Value> parsed = json::Parse(text);
    if (!parsed) {
      ADD_FAILURE() << folder << ": " << parsed.error().message();
      continue;
    }
    for (json::Value& one : parsed->as_array()) all.push_back(std::move(one));
  }
  EXPECT_FALSE(all.empty()) << "no recording " << folder;
  return json::Value(std::move(all));
}

}  // namespace flyball::api
