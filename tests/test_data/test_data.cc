#include "test_data/test_data.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace flyball {

const char* const kRecordedVersion = "v1.37";

std::filesystem::path TestsFolder() {
  return FLYBALL_TEST_DATA_DIR;
}

std::filesystem::path GoldenFolder() {
  return TestsFolder() / "golden" / kRecordedVersion;
}

std::filesystem::path ReferenceFolder() {
  return TestsFolder() / "reference" / kRecordedVersion;
}

std::vector<std::string> ReadFolder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

}  // namespace flyball
