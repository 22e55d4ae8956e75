// For tests only: where recordings and reference facts of the real Kubernetes are kept, and how to read them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flyball {

// The version the recordings are of, such as "v1.37".
extern const char* const kRecordedVersion;

// tests/ of this checkout.
std::filesystem::path TestsFolder();

// tests/golden/VERSION of this checkout: conversations, protobuf bytes, placements, kubectl sessions.
std::filesystem::path GoldenFolder();

// tests/reference/VERSION of this checkout: tables of fields, resources and columns.
std::filesystem::path ReferenceFolder();

// The texts of the JSON files of `folder` in the order of their names. Each holds a list; together they are
// one recording. Empty if there is no such folder.
std::vector<std::string> ReadFolder(const std::filesystem::path& folder);

}  // namespace flyball
