// Runs the whole table of expressions that the real Kubernetes v1.37.1 engine was asked about.
#include "cel/table/case_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "json/json.h"

namespace flyball::cel {
namespace {

json::Value ReadGolden(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << path;
  return value ? *value : json::Value();
}

TEST(CaseTableTest, EveryRowOfTheGoldenTableAgrees) {
  const std::filesystem::path folder = FLYBALL_CEL_GOLDEN;
  const json::Value schema = ReadGolden(folder / "schema.json");
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("cases")) continue;
    const json::Value cases = ReadGolden(entry.path());
    for (const json::Value& row : cases.as_array()) {
      ++rows;
      for (const std::string& difference : CheckCase(row, &schema))
        ADD_FAILURE() << row["id"].string_or("") << " " << row["expr"].string_or("") << "\n  " << difference;
    }
  }
  EXPECT_EQ(rows, 2069u);
}

}  // namespace
}  // namespace flyball::cel
