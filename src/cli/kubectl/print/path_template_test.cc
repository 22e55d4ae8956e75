#include "cli/kubectl/print/path_template.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cli {
namespace {

std::string Render(std::string_view path, std::string_view object) {
  const auto parsed = PathTemplate::Parse(path);
  EXPECT_TRUE(parsed) << path;
  return parsed ? parsed->Render(*json::Parse(object)) : "";
}

TEST(PathTemplate, MixesPathsAndText) {
  EXPECT_EQ(Render("n={.a.b}{\"\\n\"}", R"({"a":{"b":"x"}})"), "n=x\n");
  EXPECT_EQ(Render("{.missing}", "{}"), "");
  EXPECT_EQ(Render("{.data}", R"({"data":{"b":"two","a":1}})"), R"({"a":1,"b":"two"})");
}

TEST(PathTemplate, SeparatesSeveralResultsByBlanks) {
  EXPECT_EQ(Render("{.items[*].n}", R"({"items":[{"n":1},{"n":2}]})"), "1 2");
}

TEST(PathTemplate, RangesOverLists) {
  EXPECT_EQ(Render("{range .items[*]}{.n}={.v};{end}", R"({"items":[{"n":"a","v":1},{"n":"b","v":2}]})"),
            "a=1;b=2;");
}

TEST(PathTemplate, RefusesWhatIsNotClosed) {
  EXPECT_FALSE(PathTemplate::Parse("{.a"));
  EXPECT_FALSE(PathTemplate::Parse("{range .a}x"));
  EXPECT_FALSE(PathTemplate::Parse("{end}"));
}

}  // namespace
}  // namespace flyball::cli
