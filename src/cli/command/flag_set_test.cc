#include "cli/command/flag_set.h"

#include <gtest/gtest.h>

namespace flyball::cli {
namespace {

class FlagSetTest : public ::testing::Test {
 protected:
  FlagSetTest() {
    const auto text = [this](const std::string& value) { text_ = value; };
    const auto flag = [this](const std::string& value) { flag_ = value; };
    flags_.Add("-o,--output", {.set = text});
    flags_.Add("-A,--all-namespaces", {.type = "bool", .alone = "true", .set = flag});
    flags_.Add("--replicas", {.type = "int32", .set = text});
  }
  std::string Fault(const std::vector<std::string>& words) {
    auto parsed = ParseArguments({&flags_}, words);
    if (!parsed) return parsed.error().message();
    arguments_ = parsed->arguments;
    after_ = parsed->after_dashes;
    return "";
  }

  FlagSet flags_;
  std::string text_, flag_;
  std::vector<std::string> arguments_, after_;
};

TEST_F(FlagSetTest, FlagsAndArgumentsMayBeMixed) {
  EXPECT_EQ(Fault({"pods", "-Ao", "yaml", "x", "--", "-o", "y"}), "");
  EXPECT_EQ(text_, "yaml");
  EXPECT_EQ(flag_, "true");
  EXPECT_EQ(arguments_, (std::vector<std::string>{"pods", "x"}));
  EXPECT_EQ(after_, (std::vector<std::string>{"-o", "y"}));
}

TEST_F(FlagSetTest, ValuesMayBeJoined) {
  EXPECT_EQ(Fault({"-ojson", "--all_namespaces=false"}), "");
  EXPECT_EQ(text_, "json");
  EXPECT_EQ(flag_, "false");
  EXPECT_EQ(Fault({"-o=name", "-"}), "");
  EXPECT_EQ(text_, "name");
  EXPECT_EQ(arguments_, (std::vector<std::string>{"-"}));
}

TEST_F(FlagSetTest, FaultsAreInPflagsWords) {
  EXPECT_EQ(Fault({"--outputs"}), "unknown flag: --outputs");
  EXPECT_EQ(Fault({"-Ax"}), "unknown shorthand flag: 'x' in -x");
  EXPECT_EQ(Fault({"--output"}), "flag needs an argument: --output");
  EXPECT_EQ(Fault({"-o"}), "flag needs an argument: 'o' in -o");
  EXPECT_EQ(Fault({"--=x"}), "bad flag syntax: --=x");
  EXPECT_EQ(
      Fault({"--replicas=x"}),
      "invalid argument \"x\" for \"--replicas\" flag: strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(Fault({"-A=x"}),
            "invalid argument \"x\" for \"-A, --all-namespaces\" flag: strconv.ParseBool: parsing \"x\": "
            "invalid syntax");
}

TEST_F(FlagSetTest, TheFirstWordIsNoValueOfAFlag) {
  EXPECT_EQ(FirstWord({&flags_}, {"-o", "x", "-A", "get"}), 3u);
  EXPECT_EQ(FirstWord({&flags_}, {"--unknown", "x", "get"}), 2u);
  EXPECT_EQ(FirstWord({&flags_}, {"--", "get"}), std::nullopt);
}

TEST_F(FlagSetTest, ListsAreSplitAsCsv) {
  EXPECT_EQ(SplitList("a,\"b,c\",d"), (std::vector<std::string>{"a", "b,c", "d"}));
}

}  // namespace
}  // namespace flyball::cli
